module github.com/stowage-scheduler/stowage/clients/stowage

go 1.26.0

require (
	github.com/google/go-cmp v0.6.0
	github.com/stowage-scheduler/stowage/proto v0.0.0
	go.uber.org/goleak v1.3.0
	golang.org/x/sync v0.8.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250106144421-5f5ef82da422
	google.golang.org/grpc v1.67.0
	google.golang.org/protobuf v1.36.5
)

require (
	buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go v1.36.4-20250130201111-63bb56e20495.1 // indirect
	golang.org/x/net v0.28.0 // indirect
	golang.org/x/sys v0.24.0 // indirect
	golang.org/x/text v0.17.0 // indirect
)

replace github.com/stowage-scheduler/stowage/proto => ../../proto
