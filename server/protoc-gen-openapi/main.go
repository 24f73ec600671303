// Command protoc-gen-openapi is a plugin of buf. It describes the contract as JSON over HTTP in one OpenAPI document, with
// grpc-gateway's generator. The generator describes methods that have an HTTP annotation, which the contract does not have: its
// importers would need googleapis. So the plugin adds the paths that grpc-gateway gives to methods without an annotation.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv3/options"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// name is the path of the document.
const name = "server/gateway/openapi.json"

// description is the text at the head of the document.
const description = "The contract of Stowage as JSON over HTTP. Every method is a POST. The answer of a method that streams is a line of JSON " +
	"for each message, and PutSnapshot takes a line for each of its messages. Errors are google.rpc.Status; the details of invalid " +
	"requests have the paths of fields."

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var request pluginpb.CodeGeneratorRequest
	encoded, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(encoded, &request); err != nil {
		return err
	}
	for _, file := range request.GetProtoFile() {
		annotate(file)
	}
	answered, err := describe(&request)
	if err != nil {
		return err
	}
	document, err := merge(answered)
	if err != nil {
		return err
	}
	encoded, err = proto.Marshal(&pluginpb.CodeGeneratorResponse{
		SupportedFeatures: proto.Uint64(uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)),
		File:              []*pluginpb.CodeGeneratorResponse_File{{Name: proto.String(name), Content: proto.String(document)}},
	})
	if err != nil {
		return err
	}
	_, err = out.Write(encoded)
	return err
}

// annotate adds the path of each method, and the title of the document, to a file.
func annotate(file *descriptorpb.FileDescriptorProto) {
	for _, service := range file.GetService() {
		for _, method := range service.GetMethod() {
			if method.GetOptions() == nil {
				method.Options = &descriptorpb.MethodOptions{}
			}
			path := fmt.Sprintf("/%s.%s/%s", file.GetPackage(), service.GetName(), method.GetName())
			proto.SetExtension(method.GetOptions(), annotations.E_Http, &annotations.HttpRule{
				Pattern: &annotations.HttpRule_Post{Post: path}, Body: "*",
			})
		}
		proto.SetExtension(file.GetOptions(), options.E_Openapiv3Document, &options.Document{
			Info: &options.Info{Title: "Stowage", Version: "v1", Description: description},
		})
	}
}

// describe runs grpc-gateway's generator.
func describe(request *pluginpb.CodeGeneratorRequest) (*pluginpb.CodeGeneratorResponse, error) {
	encoded, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	answered, err := tool(bytes.NewReader(encoded), "protoc-gen-openapiv3")
	if err != nil {
		return nil, err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(answered, &response); err != nil {
		return nil, err
	}
	if response.Error != nil {
		return nil, errors.New(response.GetError())
	}
	return &response, nil
}

// merge merges the documents of all services.
func merge(response *pluginpb.CodeGeneratorResponse) (_ string, err error) {
	dir, err := os.MkdirTemp("", "openapi")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	args := []string{"openapiv3-merge"}
	for _, file := range response.GetFile() {
		path := filepath.Join(dir, filepath.Base(file.GetName()))
		if err := os.WriteFile(path, []byte(file.GetContent()), 0o600); err != nil {
			return "", err
		}
		args = append(args, path)
	}
	merged, err := tool(nil, args...)
	return string(merged), err
}

// tool runs a tool of go.tools.mod.
func tool(in io.Reader, args ...string) ([]byte, error) {
	command := exec.Command("go", append([]string{"tool", "-modfile=go.tools.mod"}, args...)...)
	command.Env = append(os.Environ(), "GOWORK=off")
	command.Stdin, command.Stderr = in, os.Stderr
	return command.Output()
}
