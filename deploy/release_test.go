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

// release is what tests read of goreleaser.yaml.
type release struct {
	Builds []struct {
		ID, Main, Binary string
		GOOS, GOARCH     []string
		Ignore           []map[string]string
		Flags, Ldflags   []string
	}
	Archives []struct {
		IDs       []string
		Formats   []string
		Overrides []struct {
			GOOS    string
			Formats []string
		} `yaml:"format_overrides"`
	}
	Krews []struct {
		IDs              []string
		SkipUpload       string `yaml:"skip_upload"`
		ShortDescription string `yaml:"short_description"`
		URLTemplate      string `yaml:"url_template"`
	}
	Casks []struct {
		IDs, Binaries []string
		SkipUpload    string `yaml:"skip_upload"`
		URL           struct{ Template string }
		Completions   struct{ Executable string } `yaml:"generate_completions_from_executable"`
	} `yaml:"homebrew_casks"`
	Checksum struct {
		Extra []struct{ Glob string } `yaml:"extra_files"`
	}
}

// TestReleaseHasEveryCommand expects a release to have every command, and the plugin of kubectl, for the platforms that users have.
func TestReleaseHasEveryCommand(t *testing.T) {
	var r release
	readYAML(t, "release/goreleaser.yaml", &r)
	images, err := os.ReadFile("image/build.sh")
	if err != nil {
		t.Fatal(err)
	}
	mains, archived := map[string][]string{}, []string{}
	for _, a := range r.Archives {
		archived = append(archived, a.IDs...)
	}
	for _, b := range r.Builds {
		mains[b.Main] = append(mains[b.Main], b.Binary)
		if b.ID != b.Binary || !slices.Contains(archived, b.ID) {
			t.Errorf("%s is %s, in an archive %t", b.ID, b.Binary, slices.Contains(archived, b.ID))
		}
		systems := []string{"linux"}
		if b.Main == "./clients/cmd/stowage" {
			systems = []string{"linux", "darwin", "windows"}
		}
		if !slices.Equal(b.GOOS, systems) || !slices.Equal(b.GOARCH, []string{"amd64", "arm64"}) || len(b.Ignore) > 0 {
			t.Errorf("%s is for %v on %v, without %v", b.ID, b.GOOS, b.GOARCH, b.Ignore)
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
	if !slices.Contains(mains["./clients/cmd/stowage"], "kubectl-stowage") {
		t.Error("the plugin of kubectl is not released")
	}
}

// TestReleaseHasManifests expects manifests for krew and Homebrew, which are only written, with the addresses of the release.
func TestReleaseHasManifests(t *testing.T) {
	const at = "https://github.com/stowage-scheduler/stowage/releases/download/{{ .Tag }}/{{ .ArtifactName }}"
	var r release
	readYAML(t, "release/goreleaser.yaml", &r)
	if len(r.Krews) != 1 || len(r.Casks) != 1 {
		t.Fatalf("%d manifests for krew, %d for Homebrew", len(r.Krews), len(r.Casks))
	}
	if k := r.Krews[0]; !slices.Equal(k.IDs, []string{"kubectl-stowage"}) || k.SkipUpload != "true" || k.URLTemplate != at ||
		k.ShortDescription == "" || len(k.ShortDescription) > 50 {
		t.Errorf("krew's manifest: %+v", k)
	}
	if c := r.Casks[0]; !slices.Equal(c.IDs, []string{"stowage"}) || !slices.Equal(c.Binaries, c.IDs) || c.SkipUpload != "true" ||
		c.URL.Template != at || c.Completions.Executable != "stowage" {
		t.Errorf("Homebrew's cask: %+v", c)
	}
	for _, a := range r.Archives {
		zipped := len(a.Overrides) == 1 && a.Overrides[0].GOOS == "windows" && slices.Equal(a.Overrides[0].Formats, []string{"zip"})
		if windows := !slices.Contains(a.IDs, "stowage-server"); !slices.Equal(a.Formats, []string{"tar.gz"}) || zipped != windows {
			t.Errorf("%v: formats %v, %v", a.IDs, a.Formats, a.Overrides)
		}
	}
}

// TestEveryFileIsPublished expects the workflow to publish what release.sh builds, and SHA256SUMS to have it.
func TestEveryFileIsPublished(t *testing.T) {
	var r release
	readYAML(t, "release/goreleaser.yaml", &r)
	var sums []string
	for _, e := range r.Checksum.Extra {
		sums = append(sums, filepath.Base(e.Glob))
	}
	if want := []string{"*.tgz", "images.txt", "stowage.v1.binpb.gz"}; !slices.Equal(sums, want) {
		t.Errorf("beside archives and SBOMs, SHA256SUMS has %v, want %v", sums, want)
	}
	var workflow struct {
		On   struct{ Push struct{ Tags []string } }
		Jobs map[string]struct{ Steps []struct{ Name, Run string } }
	}
	readYAML(t, "../.github/workflows/release.yaml", &workflow)
	if !slices.Equal(workflow.On.Push.Tags, []string{"v*"}) {
		t.Errorf("the workflow runs for %v", workflow.On.Push.Tags)
	}
	steps := workflow.Jobs["release"].Steps
	at := func(run string) int {
		return slices.IndexFunc(steps, func(s struct{ Name, Run string }) bool { return strings.Contains(s.Run, run) })
	}
	built, pushed, published := at("make release"), at("publish.sh"), at("gh release create")
	if built < 0 || built > pushed || pushed > published || at("make breaking") > built || at("make breaking") < 0 {
		t.Fatalf("the steps %v are out of order", steps)
	}
	files := strings.Fields(steps[published].Run)
	for _, file := range append(sums, "*.tar.gz", "*.zip", "*.cdx.json", "kubectl-stowage.yaml", "stowage.rb", "SHA256SUMS",
		"SHA256SUMS.sigstore.json") {
		if !slices.Contains(files, file) && !slices.Contains(files, "./"+file) {
			t.Errorf("%s is not published", file)
		}
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
