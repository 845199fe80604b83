package bpf

// The objects in this package are built from the C files beside them by `go generate`, which needs clang, llvm-strip and
// libbpf's headers (Debian: clang llvm libbpf-dev). They are committed so that building wirespeed needs none of these.
//
//go:generate go tool -modfile=../../tools/go.mod bpf2go -target bpfel -type stream -type cpu -type histogram -cflags "-O2 -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu -I/usr/include/aarch64-linux-gnu" analyse analyse.bpf.c

// ClangMajor is the major version of the clang that made the committed objects; another one makes other bytes. A test
// rebuilds them where this version is at hand.
const ClangMajor = 14
