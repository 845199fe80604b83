package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/wirespeed/wirespeed/internal/host"
)

// conditions says what was measured where and how to do it again.
func conditions(s settings) string {
	m := host.Facts()
	return fmt.Sprintf("`%s`, %s: %s, %d cores, kernel %s. %d rounds.\n", s.command, time.Now().UTC().Format(time.DateOnly), m.CPU, m.Cores, m.Kernel, s.runs)
}

func markers(name string) (begin, end string) {
	return "<!-- bench:" + name + " begins -->\n", "<!-- bench:" + name + " ends -->"
}

// insert puts a text between the markers of a page.
func insert(file, name, text string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := markers(name)
	head, rest, ok := strings.Cut(string(page), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s has no place for the table %s: it needs the lines %s and %s", file, name, strings.TrimSpace(begin), end)
	}
	return os.WriteFile(file, []byte(head+begin+"\n"+text+"\n"+end+tail), 0o644)
}
