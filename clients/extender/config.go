package extender

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/process"
	"github.com/stowage-scheduler/stowage/clients/schedulerconfig"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Config is the command's configuration.
type Config struct {
	ListenAddress string `default:"127.0.0.1:7435" help:"Address that kube-scheduler calls. Loopback unless set otherwise."`

	process.Settings `set:"admin_address=127.0.0.1:7436"`
	connect.Server

	Decide       string   `enum:"bind,filter" default:"bind" help:"When a pod is assumed. bind: at the bind verb, which kube-scheduler's configuration must enable. filter: at the filter verb, which then returns only the best node."`
	Scores       string   `enum:"rescaled,exact" default:"rescaled" help:"Scale of prioritize. rescaled: 0 to 10. exact: the plugins' scores, for a configuration with the other plugins' weights times 10."`
	ScorePlugins []string `default:"InterPodAffinity,PodTopologySpread" help:"Plugins whose scores count in prioritize. kube-scheduler must have disabled them."`

	ProfileFile   string `help:"Profile to decide by, in JSON or YAML: a Profile of the contract, or the KubeSchedulerConfiguration that calls this extender. Default: kube-scheduler's."`
	SchedulerName string `help:"The schedulerName of the profile in a KubeSchedulerConfiguration. Needed if there are several."`

	SchedulerLease string `help:"NAMESPACE/NAME of kube-scheduler's leader lease. Pods are bound only while a process of this host holds it. Leave it empty for a kube-scheduler without leader election."`

	AssumeFor            time.Duration `default:"30s" help:"How long a pod stays assumed before it is read from the API server; longer than kube-scheduler takes to bind. If the pod is still pending, the decision is forgotten."`
	OutcomeWait          time.Duration `default:"100ms" help:"How long filter waits for the bind of the previous pod, with decide=bind."`
	EventWait            time.Duration `default:"1s" help:"How long filter waits for events if it rejects all nodes, and some by rules that kube-scheduler's own plugins have just evaluated."`
	PreemptionCandidates bool          `help:"Report nodes that preemption could make feasible as candidates. kube-scheduler v1.37 finds no victims there and reports an error."`
	OwnVictims           bool          `help:"Answer preempt with the victims of Stowage's own preemption on the nodes of the request, for pods without resource claims. It sends the name of every pod to Stowage, which takes memory. Default: kube-scheduler's victims where they suffice."`

	AllReasons bool `help:"Return the reasons of infeasible nodes even if others are feasible, for a kube-scheduler with a later extender."`

	RequestTimeout  time.Duration `default:"4s" help:"Deadline of a request; kube-scheduler's httpTimeout is 5s by default."`
	MaxRequestBytes int64         `default:"16777216" help:"Maximum size of a request in bytes."`

	DrainDelay          time.Duration `default:"1s" help:"How long a stopping process keeps serving while it is not ready."`
	ShutdownGracePeriod time.Duration `default:"10s" help:"How long open requests may take after that."`
}

// Validate reports everything that is wrong with the configuration.
func (c *Config) Validate() error {
	errs := []error{c.Settings.Validate(), c.Server.Validate(), process.ValidateAddress("listen-address", c.ListenAddress)}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, d := range [...]struct {
		key string
		d   time.Duration
	}{{"assume-for", c.AssumeFor}, {"request-timeout", c.RequestTimeout}} {
		check(d.d > 0, "%s: must be positive, is %v", d.key, d.d)
	}
	for _, d := range [...]struct {
		key string
		d   time.Duration
	}{{"outcome-wait", c.OutcomeWait}, {"event-wait", c.EventWait}, {"drain-delay", c.DrainDelay}, {"shutdown-grace-period", c.ShutdownGracePeriod}} {
		check(d.d >= 0, "%s: must not be negative, is %v", d.key, d.d)
	}
	check(c.EventWait < c.RequestTimeout, "event-wait: must be shorter than request-timeout, is %v", c.EventWait)
	check(c.StowagePatience < c.RequestTimeout, "stowage-patience: must be shorter than request-timeout, is %v", c.StowagePatience)
	check(c.MaxRequestBytes >= 1, "max-request-bytes: must be positive, is %d", c.MaxRequestBytes)
	namespace, name, _ := strings.Cut(c.SchedulerLease, "/")
	check(c.SchedulerLease == "" || namespace != "" && name != "" && !strings.Contains(name, "/"),
		"scheduler-lease: must be NAMESPACE/NAME, is %q", c.SchedulerLease)
	_, err := NewScores(Range(c.Scores), c.ScorePlugins, nil)
	check(err == nil, "score-plugins: %v", err)
	return errors.Join(errs...)
}

// exactFactor is the factor by which kube-scheduler multiplies the scores of an extender. A configuration for exact scores multiplies
// the weights of the plugins by it, too.
const exactFactor = 10

// profile reads the profile; nil if none is given. A KubeSchedulerConfiguration disables the plugins that this extender replaces.
func (c *Config) profile() (*stowagev1.Profile, error) {
	if c.ProfileFile == "" {
		return nil, nil
	}
	this := &schedulerconfig.Extender{Plugins: c.ScorePlugins}
	if Range(c.Scores) == Exact {
		this.WeightFactor = exactFactor
	}
	configured, err := schedulerconfig.ReadFile(c.ProfileFile, schedulerconfig.Options{SchedulerName: c.SchedulerName, Extender: this})
	if err != nil {
		return nil, fmt.Errorf("profile-file: %w", err)
	}
	return configured.Profile, nil
}
