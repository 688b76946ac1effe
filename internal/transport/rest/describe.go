package rest

import (
	_ "embed"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

//go:generate go test -run TestTheDescriptions -update .
//go:generate go test -run "TestTheDocument|TestTheReference" -update .

// descriptionsFile holds what the comments of our types say, by type and by type and field: "RunInfo", "RunInfo.status". A test
// compares it with the source.
//
//go:embed descriptions.json
var descriptionsFile []byte

// descriptions reads descriptionsFile.
func descriptions() map[string]string {
	var out map[string]string
	if err := json.Unmarshal(descriptionsFile, &out); err != nil {
		// The file is part of the program: a test reads it.
		panic(err)
	}
	return out
}

// describeSchemas puts the descriptions into the schemas of the registry.
func (b *builder) describeSchemas() {
	for name, schema := range b.registry.Map() {
		schema.Description = b.texts[name]
		for field, property := range schema.Properties {
			describe(property, b.texts[name+"."+field])
		}
	}
}

// field is what a field of a request says.
func (b *builder) field(request any, f reflect.StructField) string {
	return b.texts[reflect.TypeOf(request).Name()+"."+jsonName(f)]
}

// describe sets a description, beside a reference too, which OpenAPI 3.1 allows.
func describe(s *huma.Schema, text string) {
	if text != "" {
		s.Description = text
	}
}
