package batch

import (
	"errors"
	"fmt"
	"time"

	"github.com/stowage-scheduler/stowage/clients/process"
	"github.com/stowage-scheduler/stowage/clients/schedulerconfig"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Config is the command's configuration.
type Config struct {
	process.Settings `set:"admin_address=127.0.0.1:7437"`

	SchedulerName string        `default:"stowage" help:"The spec.schedulerName of the pods to schedule."`
	ProfileFile   string        `help:"Profile to decide by, in JSON or YAML: a Profile of the contract, or a KubeSchedulerConfiguration with one profile or one for scheduler-name. Default: kube-scheduler's."`
	PodGroupMode  string        `enum:"in-order,joint" default:"in-order" help:"How pod groups are placed. in-order: one pod after another. joint: all pods together, which finds more placements."`
	JointTime     time.Duration `default:"500ms" help:"Maximum time of searches for joint placements between two batches of other pods. Namespaces share it equally."`
	MaxJointSteps uint32        `default:"65536" help:"Maximum number of search steps that a PodGroup may request with the annotation stowage.scheduling/max-steps."`
	TieBreak      string        `enum:"fewest-pods,first" default:"fewest-pods" help:"Choice among several best nodes. fewest-pods: the node with the fewest pods, which spreads equal pods. first: the first node; servers without FEATURE_TIE_BREAK need it."`
	MaxBatchPods  int           `default:"1000" help:"Approximate number of pods per call."`
	Binders       int           `default:"16" help:"Number of concurrent bindings."`
	Preempt       bool          `default:"true" negatable:"" help:"Evict pods of lower priority for an unschedulable pod, as kube-scheduler does. No pods are evicted if the profile has no DefaultPreemption."`

	AllocateDevices bool `help:"Allocate devices for the resource claims of pods. Only if no other scheduler allocates devices of the same nodes. Without it, pods with resource claims stay pending."`

	LeaderElect    bool   `default:"true" negatable:"" help:"Schedule only while holding the lease. Required with several replicas."`
	LeaseNamespace string `default:"stowage" help:"Namespace of the lease."`
	LeaseName      string `default:"stowage-batch" help:"Name of the lease."`
}

// Validate reports everything that is wrong with the configuration.
func (c *Config) Validate() error {
	errs := []error{c.Settings.Validate()}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.SchedulerName != "", "scheduler-name: is empty")
	check(c.MaxBatchPods > 0, "max-batch-pods: must be positive, is %d", c.MaxBatchPods)
	check(c.JointTime > 0, "joint-time: must be positive, is %s", c.JointTime)
	check(c.MaxJointSteps > 0, "max-joint-steps: must be positive")
	check(c.Binders > 0, "binders: must be positive, is %d", c.Binders)
	check(!c.LeaderElect || c.LeaseNamespace != "" && c.LeaseName != "", "lease-namespace, lease-name: required with leader-elect")
	return errors.Join(errs...)
}

// scheduler reads the profile; without a profile, its fields are zero.
func (c *Config) scheduler() (*schedulerconfig.Scheduler, error) {
	if c.ProfileFile == "" {
		return &schedulerconfig.Scheduler{}, nil
	}
	out, err := schedulerconfig.ReadFile(c.ProfileFile, schedulerconfig.Options{SchedulerName: c.SchedulerName, OrOnly: true})
	if err != nil {
		return nil, fmt.Errorf("profile-file: %w", err)
	}
	return out, nil
}

func (c *Config) tieBreak() stowagev1.TieBreak {
	if c.TieBreak == "fewest-pods" {
		return stowagev1.TieBreak_TIE_BREAK_FEWEST_PODS
	}
	return stowagev1.TieBreak_TIE_BREAK_UNSPECIFIED
}

func (c *Config) groupMode() stowagev1.PodGroupMode {
	if c.PodGroupMode == "joint" {
		return stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT
	}
	return stowagev1.PodGroupMode_POD_GROUP_MODE_IN_ORDER
}
