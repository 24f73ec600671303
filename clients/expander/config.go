package expander

import (
	"errors"
	"fmt"
	"time"

	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/process"
	"github.com/stowage-scheduler/stowage/clients/schedulerconfig"
)

// Config is the command's configuration.
type Config struct {
	ListenAddress string `default:"127.0.0.1:7438" help:"Address that Cluster Autoscaler calls, its grpc-expander-url. Default: loopback."`

	process.Settings `set:"admin_address=127.0.0.1:7439"`
	connect.Server

	Cluster    bool   `help:"Include the nodes, pods and DaemonSets of the live cluster in the verification. Without it, only the new nodes count."`
	PricesFile string `help:"Prices of nodes by node group or labels, in YAML or JSON. Without it, options with the fewest nodes are best."`
	NoneFits   string `enum:"leave,refuse" default:"leave" help:"Response if no option places a pod on its nodes. leave: an error, and Cluster Autoscaler continues with all options. refuse: no option, so that Cluster Autoscaler of 1.35 or later adds no nodes."`

	ProfileFile   string `help:"Profile to decide by, in JSON or YAML: a Profile of the contract, or a KubeSchedulerConfiguration. Default: kube-scheduler's."`
	SchedulerName string `help:"The schedulerName of the profile in a KubeSchedulerConfiguration. Needed if there are several."`

	RequestTimeout  time.Duration `default:"4s" help:"Deadline of a call; Cluster Autoscaler waits for 5s."`
	MaxRequestBytes int           `default:"134217728" help:"Maximum size of a request in bytes."`

	DrainDelay          time.Duration `default:"1s" help:"How long a stopping process keeps serving while it is not ready."`
	ShutdownGracePeriod time.Duration `default:"10s" help:"How long open calls may take after that."`
}

// Validate reports everything that is wrong with the configuration.
func (c *Config) Validate() error {
	errs := []error{c.Settings.Validate(), c.Server.Validate(), process.ValidateAddress("listen-address", c.ListenAddress)}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.RequestTimeout > 0, "request-timeout: must be positive, is %v", c.RequestTimeout)
	check(c.StowagePatience < c.RequestTimeout, "stowage-patience: must be shorter than request-timeout, is %v", c.StowagePatience)
	check(c.MaxRequestBytes >= 1, "max-request-bytes: must be positive, is %d", c.MaxRequestBytes)
	check(c.DrainDelay >= 0, "drain-delay: must not be negative, is %v", c.DrainDelay)
	check(c.ShutdownGracePeriod >= 0, "shutdown-grace-period: must not be negative, is %v", c.ShutdownGracePeriod)
	return errors.Join(errs...)
}

// scheduler reads the profile; without a profile, its fields are zero.
func (c *Config) scheduler() (*schedulerconfig.Scheduler, error) {
	if c.ProfileFile == "" {
		return &schedulerconfig.Scheduler{}, nil
	}
	configured, err := schedulerconfig.ReadFile(c.ProfileFile, schedulerconfig.Options{SchedulerName: c.SchedulerName})
	if err != nil {
		return nil, fmt.Errorf("profile-file: %w", err)
	}
	return configured, nil
}

// prices reads the prices; nil if none are given.
func (c *Config) prices() (*Prices, error) {
	if c.PricesFile == "" {
		return nil, nil
	}
	p, err := ReadPrices(c.PricesFile)
	if err != nil {
		return nil, fmt.Errorf("prices-file: %w", err)
	}
	return p, nil
}
