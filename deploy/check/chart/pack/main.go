// Command pack packs the Helm chart as `helm package` does, with the same bytes for the same commit.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
)

func main() {
	var (
		chart   = flag.String("chart", "../chart/stowage", "the chart's directory")
		out     = flag.String("out", ".", "directory to write the package to")
		created = flag.Int64("created", 0, "time of the files, in seconds since 1970")
	)
	flag.Parse()
	name, err := pack(*chart, *out, time.Unix(*created, 0).UTC())
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
	fmt.Println(name)
}

// pack writes the package of a chart into a directory, and returns its name.
func pack(chart, out string, created time.Time) (string, error) {
	c, err := loader.LoadDir(chart)
	if err != nil {
		return "", err
	}
	c.ModTime, c.SchemaModTime = created, created
	for _, files := range [][]*common.File{c.Raw, c.Templates, c.Files} {
		for _, f := range files {
			f.ModTime = created
		}
	}
	return chartutil.Save(c, out)
}
