package remedy

// InPlace lets an old pod of a Deployment leave before a new one comes.
func InPlace(of Workload) *Fix {
	return &Fix{Commands: []string{of.command()}, Patch: []byte(`spec:
  strategy:
    rollingUpdate:
      maxSurge: 0
      maxUnavailable: 1
`)}
}
