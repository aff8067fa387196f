// peer FRAMEWORK TARGET CALLS: a bridge under a client in Go, mcp-go or go-sdk.
// TARGET is {"url": …} or {"command": …, "args": […]}, CALLS [{"name", "arguments"}].
// Prints {"tools": {name: the JSON schema of its arguments}, "calls": [text]}.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type target struct {
	URL     string   `json:"url"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

type call struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

type found struct {
	Tools map[string]any `json:"tools"`
	Calls []string       `json:"calls"`
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func withGoSDK(ctx context.Context, where target, calls []call) found {
	var transport sdk.Transport = &sdk.StreamableClientTransport{Endpoint: where.URL}
	if where.URL == "" {
		transport = &sdk.CommandTransport{Command: exec.Command(where.Command, where.Args...)}
	}
	peer := sdk.NewClient(&sdk.Implementation{Name: "peer", Version: "1"}, nil)
	session := must(peer.Connect(ctx, transport, nil))
	defer session.Close()
	out := found{Tools: map[string]any{}}
	for tool, err := range session.Tools(ctx, nil) {
		tool = must(tool, err)
		out.Tools[tool.Name] = tool.InputSchema
	}
	for _, one := range calls {
		result := must(session.CallTool(ctx, &sdk.CallToolParams{Name: one.Name, Arguments: one.Arguments}))
		out.Calls = append(out.Calls, string(must(json.Marshal(result.Content))))
	}
	return out
}

func withMcpGo(ctx context.Context, where target, calls []call) found {
	var peer *client.Client
	if where.URL == "" {
		peer = must(client.NewStdioMCPClient(where.Command, nil, where.Args...))
	} else {
		peer = must(client.NewStreamableHttpClient(where.URL))
		must(0, peer.Start(ctx))
	}
	defer peer.Close()
	start := mcpgo.InitializeRequest{}
	start.Params.ProtocolVersion = mcpgo.LATEST_PROTOCOL_VERSION
	start.Params.ClientInfo = mcpgo.Implementation{Name: "peer", Version: "1"}
	must(peer.Initialize(ctx, start))
	out := found{Tools: map[string]any{}}
	for _, tool := range must(peer.ListTools(ctx, mcpgo.ListToolsRequest{})).Tools {
		out.Tools[tool.Name] = tool.InputSchema
	}
	for _, one := range calls {
		request := mcpgo.CallToolRequest{}
		request.Params.Name, request.Params.Arguments = one.Name, one.Arguments
		result := must(peer.CallTool(ctx, request))
		out.Calls = append(out.Calls, string(must(json.Marshal(result.Content))))
	}
	return out
}

func main() {
	var where target
	var calls []call
	must(0, json.Unmarshal([]byte(os.Args[2]), &where))
	must(0, json.Unmarshal([]byte(os.Args[3]), &calls))
	run := map[string]func(context.Context, target, []call) found{"mcp-go": withMcpGo, "go-sdk": withGoSDK}
	must(0, json.NewEncoder(os.Stdout).Encode(run[os.Args[1]](context.Background(), where, calls)))
}
