package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestReleaseHasEveryCommand expects a release to have every command, and the plugin of kubectl, for the platforms that users have.
func TestReleaseHasEveryCommand(t *testing.T) {
	var release struct {
		Builds []struct {
			ID, Main, Binary string
			GOOS, GOARCH     []string
			Flags, Ldflags   []string
		}
		Archives []struct{ IDs []string }
		Krews    []struct {
			IDs              []string
			ShortDescription string `yaml:"short_description"`
			URLTemplate      string `yaml:"url_template"`
		}
	}
	readYAML(t, "release/goreleaser.yaml", &release)
	images, err := os.ReadFile("image/build.sh")
	if err != nil {
		t.Fatal(err)
	}
	mains, archived := map[string][]string{}, []string{}
	for _, a := range release.Archives {
		archived = append(archived, a.IDs...)
	}
	for _, b := range release.Builds {
		mains[b.Main] = append(mains[b.Main], b.Binary)
		if b.ID != b.Binary || !slices.Contains(archived, b.ID) {
			t.Errorf("%s is %s, in an archive %t", b.ID, b.Binary, slices.Contains(archived, b.ID))
		}
		if !slices.Contains(b.GOOS, "linux") || !slices.Equal(b.GOARCH, []string{"amd64", "arm64"}) {
			t.Errorf("%s is for %v on %v", b.ID, b.GOOS, b.GOARCH)
		}
		if !slices.Equal(b.Flags, []string{"-trimpath"}) || !slices.Equal(b.Ldflags, []string{"-s -w"}) {
			t.Errorf("%s is built with %v %v, not as images are", b.ID, b.Flags, b.Ldflags)
		}
	}
	for _, dir := range []string{"../server/cmd/*", "../clients/cmd/*"} {
		commands, err := filepath.Glob(dir)
		if err != nil || len(commands) == 0 {
			t.Fatal(commands, err)
		}
		for _, c := range commands {
			name := filepath.Base(c)
			main := "./" + filepath.ToSlash(strings.TrimPrefix(c, "../"))
			if !slices.Contains(mains[main], name) {
				t.Errorf("%s is not released", name)
			}
			if !strings.Contains(string(images), "\nimage "+main+" ") {
				t.Errorf("%s has no image", name)
			}
		}
	}
	if k := release.Krews[0]; !slices.Equal(k.IDs, []string{"kubectl-stowage"}) || !slices.Contains(mains["./clients/cmd/stowage"], k.IDs[0]) ||
		len(k.ShortDescription) == 0 || len(k.ShortDescription) > 50 {
		t.Errorf("krew's manifest is of %v: %s", k.IDs, k.ShortDescription)
	}
}

// TestWorkflowsArePinned expects workflows to use actions by commit, to have no rights beyond their jobs' needs, and to name no
// registry.
func TestWorkflowsArePinned(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	commit := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)
	for _, file := range files {
		var workflow struct {
			Permissions map[string]string
			Jobs        map[string]struct {
				Permissions map[string]string
				Steps       []struct{ Uses, Run string }
			}
		}
		readYAML(t, file, &workflow)
		if workflow.Permissions == nil || len(workflow.Permissions) > 0 {
			t.Errorf("%s: the workflow has rights: %v", file, workflow.Permissions)
		}
		for name, job := range workflow.Jobs {
			if len(job.Permissions) == 0 || len(job.Steps) == 0 {
				t.Errorf("%s: %s has rights %v and %d steps", file, name, job.Permissions, len(job.Steps))
			}
			for _, s := range job.Steps {
				if s.Uses != "" && !commit.MatchString(s.Uses) {
					t.Errorf("%s: %s uses %s", file, name, s.Uses)
				}
				for _, target := range regexp.MustCompile(`(?m)^make ([\w-]+)`).FindAllStringSubmatch(s.Run, -1) {
					if makefile, err := os.ReadFile("../Makefile"); err != nil || !strings.Contains(string(makefile), "\n"+target[1]+":") {
						t.Errorf("%s: there is no make %s", file, target[1])
					}
				}
				if strings.Contains(s.Run, "${{") {
					t.Errorf("%s: %s has an expression in a script, which its value could change: %s", file, name, s.Run)
				}
			}
		}
	}
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestWorkflowsRunTargets expects every target of make that a workflow runs to exist.
func TestWorkflowsRunTargets(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	workflows, err := filepath.Glob("../.github/workflows/*.yaml")
	if err != nil || len(workflows) == 0 {
		t.Fatal(workflows, err)
	}
	for _, path := range workflows {
		var workflow struct {
			Jobs map[string]struct{ Steps []struct{ Run string } }
		}
		readYAML(t, path, &workflow)
		for job, j := range workflow.Jobs {
			for _, step := range j.Steps {
				command, ok := strings.CutPrefix(step.Run, "make ")
				if !ok {
					continue
				}
				for word := range strings.FieldsSeq(command) {
					if !strings.Contains(word, "=") && !strings.Contains(string(makefile), "\n"+word+":") {
						t.Errorf("%s: job %s makes %s, which the Makefile lacks", path, job, word)
					}
				}
			}
		}
	}
}
