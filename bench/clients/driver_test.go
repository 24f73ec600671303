package clients

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	_ "google.golang.org/genproto/googleapis/rpc/errdetails" // errors have them
)

// The commands of the drivers. GRPC and HTTP in a command are the addresses of the server.
var (
	typescript = flag.String("typescript", "", "command of the driver of the client in TypeScript")
	step       = flag.Int("step", 1, "each how many-th case is run")
	python     = flag.String("python", "", "command of the driver of the client in Python")
)

// driver is a client in another language.
type driver struct {
	mutex sync.Mutex
	in    io.Writer
	out   *bufio.Reader
}

func startDriver(t *testing.T, command, grpcAddress, httpAddress string) *driver {
	t.Helper()
	words := strings.Fields(strings.NewReplacer("GRPC", grpcAddress, "HTTP", "http://"+httpAddress).Replace(command))
	process := exec.CommandContext(t.Context(), words[0], words[1:]...)
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		if err := process.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("the driver: %v", err)
		}
	})
	return &driver{in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

type asked struct {
	Method   string            `json:"method"`
	Messages []json.RawMessage `json:"messages"`
}

type answered struct {
	Messages []json.RawMessage
	Error    json.RawMessage
}

func (d *driver) call(a asked) (*answered, error) {
	line, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if _, err := d.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	if line, err = d.out.ReadBytes('\n'); err != nil {
		return nil, err
	}
	var out answered
	return &out, json.Unmarshal(line, &out)
}

// serve is a gRPC server that makes the calls that it receives by the driver.
func (d *driver) serve(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(d.handle), grpc.MaxRecvMsgSize(1<<28))
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func (d *driver) handle(_ any, stream grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(stream)
	if !strings.HasPrefix(path, "/stowage.") {
		return status.Error(codes.Unimplemented, path)
	}
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", ".")))
	if err != nil {
		return status.Error(codes.Unimplemented, err.Error())
	}
	method := found.(protoreflect.MethodDescriptor)
	ask := asked{Method: path}
	for {
		request := dynamicpb.NewMessage(method.Input())
		if err := stream.RecvMsg(request); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		text, err := protojson.Marshal(request)
		if err != nil {
			return err
		}
		ask.Messages = append(ask.Messages, text)
	}
	got, err := d.call(ask)
	if err != nil {
		return status.Error(codes.Internal, fmt.Sprintf("the driver: %v", err))
	}
	for _, text := range got.Messages {
		answer := dynamicpb.NewMessage(method.Output())
		if err := protojson.Unmarshal(text, answer); err != nil {
			return status.Error(codes.Internal, fmt.Sprintf("the driver's answer: %v", err))
		}
		if err := stream.SendMsg(proto.Message(answer)); err != nil {
			return err
		}
	}
	if got.Error != nil {
		var s spb.Status
		if err := protojson.Unmarshal(got.Error, &s); err != nil {
			return status.Error(codes.Internal, fmt.Sprintf("the driver's error: %v", err))
		}
		return status.ErrorProto(&s)
	}
	return nil
}
