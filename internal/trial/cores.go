package trial

import (
	"fmt"

	"github.com/wirespeed/wirespeed/internal/host"
)

// placeQueues gives every queue of every port a core, where there are several ports: each engine sees its own port only and
// would put all of them on the same. With one port the engine chooses.
func (u *run) placeQueues() error {
	s := &u.spec
	if s.Cores == nil && len(u.tx) < 2 {
		return nil
	}
	cores := s.Cores
	if cores == nil {
		cpus, err := host.CPUs()
		if err != nil {
			return EnvironmentOf(err)
		}
		for i := range s.Queues * len(u.tx) {
			cores = append(cores, cpus[i%len(cpus)])
		}
	}
	owner := map[int]string{}
	for k, x := range u.tx {
		x.plan.Cores = cores[k*s.Queues : (k+1)*s.Queues]
		for q, c := range x.plan.Cores {
			queue := fmt.Sprintf("queue %d of %s", q, x.target)
			if o, shared := owner[c]; shared {
				u.note("core %d is shared by %s and %s: each has a part of it only", c, o, queue)
			}
			owner[c] = queue
		}
	}
	return nil
}
