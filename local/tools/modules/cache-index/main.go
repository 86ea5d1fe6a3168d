// Command cache-index keeps the index of llm-d's library for precise prefix caching, which reads the cache events of
// engines. Only tests run it.
//
// The argument is a file with JSON: `parameters` of a precise-prefix-cache-producer, and `pods`, each with the `name`
// under which the picker knows it and the `endpoint` of its events. Each line of standard input is a question: `model`
// and `tokens`. The answer to it, a line of standard output, has the score of each pod: how many blocks of the tokens
// its cache has, from the first one on.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/llm-d/llm-d-kv-cache/pkg/kvcache"
	"github.com/llm-d/llm-d-kv-cache/pkg/kvcache/kvblock"
	"github.com/llm-d/llm-d-kv-cache/pkg/kvevents"
	"github.com/llm-d/llm-d-kv-cache/pkg/kvevents/engineadapter"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

type parameters struct {
	TokenProcessorConfig *kvblock.TokenProcessorConfig `json:"tokenProcessorConfig"`
	IndexerConfig        *kvcache.Config               `json:"indexerConfig"`
	KVEventsConfig       *kvevents.Config              `json:"kvEventsConfig"`
}

type pod struct {
	Name     string `json:"name"`
	Endpoint string `json:"endpoint"`
}

type question struct {
	Model  string   `json:"model"`
	Tokens []uint32 `json:"tokens"`
}

func main() {
	if err := serve(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "cache-index:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, path string) error {
	log.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(os.Stderr)))
	indexer, err := newIndexer(ctx, path)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		scores, err := indexer.ScoreTokens(ctx, asked.Tokens, asked.Model, nil, nil)
		if err != nil {
			return err
		}
		text, err := json.Marshal(scores)
		if err != nil {
			return err
		}
		fmt.Println(string(text))
	}
	return lines.Err()
}

// newIndexer returns an index to which the events of all pods go.
func newIndexer(ctx context.Context, path string) (*kvcache.Indexer, error) {
	defaults, err := kvcache.NewDefaultConfig()
	if err != nil {
		return nil, err
	}
	config := struct {
		Parameters parameters `json:"parameters"`
		Pods       []pod      `json:"pods"`
	}{Parameters: parameters{kvblock.DefaultTokenProcessorConfig(), defaults, kvevents.DefaultConfig()}}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	tokens, err := kvblock.NewChunkedTokenDatabase(config.Parameters.TokenProcessorConfig)
	if err != nil {
		return nil, err
	}
	indexer, err := kvcache.NewKVCacheIndexer(ctx, config.Parameters.IndexerConfig, tokens)
	if err != nil {
		return nil, err
	}
	events := config.Parameters.KVEventsConfig
	pool := kvevents.NewPool(events, indexer.KVBlockIndex(), tokens, engineadapter.NewVLLMAdapter())
	pool.Start(ctx)
	subscribers := kvevents.NewSubscriberManager(pool)
	for _, pod := range config.Pods {
		if err := subscribers.EnsureSubscriber(ctx, pod.Name, pod.Endpoint, events.TopicFilter, true); err != nil {
			return nil, err
		}
	}
	return indexer, nil
}
