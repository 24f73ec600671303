package batch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func parsed(t *testing.T, args ...string) (*Config, error) {
	t.Helper()
	var c Config
	p, err := kong.New(&c, kong.Exit(func(int) { t.Fatal("exit") }))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Parse(args)
	return &c, err
}

func TestInvalidSettings(t *testing.T) {
	for _, args := range [][]string{
		{"--scheduler-name="}, {"--max-batch-pods=0"}, {"--binders=0"}, {"--lease-name="}, {"--admin-address=nowhere"},
		{"--stowage-patience=-1s"}, {"--log-level=loud"}, {"--pod-group-mode=first"}, {"--tie-break=random"},
	} {
		if _, err := parsed(t, args...); err == nil {
			t.Errorf("%v are accepted", args)
		}
	}
}

func TestTieBreak(t *testing.T) {
	for want, args := range map[stowagev1.TieBreak][]string{
		stowagev1.TieBreak_TIE_BREAK_FEWEST_PODS: nil,
		stowagev1.TieBreak_TIE_BREAK_UNSPECIFIED: {"--tie-break=first"},
	} {
		if c, err := parsed(t, args...); err != nil || c.tieBreak() != want {
			t.Errorf("%v: %v, %v, not %v", args, c.tieBreak(), err, want)
		}
	}
}

// A KubeSchedulerConfiguration has a profile of the scheduler's name, or a single one.
func TestProfileOfASchedulerConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scheduler.yaml")
	text := `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- {schedulerName: default-scheduler, pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 3}}]}
`
	read := func(text, name string) (int32, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := parsed(t, "--profile-file="+file, "--scheduler-name="+name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.scheduler()
		if err != nil {
			return 0, err
		}
		return s.Profile.GetHardPodAffinityWeight(), nil
	}
	if weight, err := read(text, "stowage"); err != nil || weight != 3 {
		t.Errorf("the only profile: %d, %v", weight, err)
	}
	text += `- {schedulerName: stowage, pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 4}}]}`
	if weight, err := read(text, "stowage"); err != nil || weight != 4 {
		t.Errorf("the profile of the name: %d, %v", weight, err)
	}
	if _, err := read(text, "other"); err == nil ||
		!strings.Contains(err.Error(), "profile-file: "+file+": profiles: there is none") {
		t.Errorf("no profile of the name: %v", err)
	}
	text = strings.Replace(text, "{schedulerName: stowage,",
		"{schedulerName: stowage, plugins: {postFilter: {disabled: [{name: DefaultPreemption}]}},", 1)
	if _, err := read(text, "stowage"); err != nil {
		t.Error(err)
	}
	if s, err := (&Config{SchedulerName: "stowage", ProfileFile: file}).scheduler(); err != nil || !s.NoPreemption() {
		t.Errorf("a profile without preemption: %v, %v", s, err)
	}
	if s, err := (&Config{}).scheduler(); err != nil || s.Profile != nil || s.NoPreemption() {
		t.Errorf("no file: %v, %v", s, err)
	}
}
