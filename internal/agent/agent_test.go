package agent_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func write(t *testing.T, s store.Store, fn func(tx store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), store.Interactive, fn); err != nil {
		t.Fatalf("write: %v", err)
	}
}

func read(t *testing.T, s store.Store, fn func(tx store.Tx) error) {
	t.Helper()
	if err := s.Read(t.Context(), fn); err != nil {
		t.Fatalf("read: %v", err)
	}
}

func create(t *testing.T, s store.Store, id, account string, now int64) agent.Agent {
	t.Helper()
	d := parse(t, map[string]any{"metadata": map[string]any{"n": int64(7), "f": 2.0, "b": []byte{1}}})
	var a agent.Agent
	write(t, s, func(tx store.Tx) (err error) {
		a, err = agent.Create(tx, agent.CreateParams{ID: id, Account: account, Definition: d, CreatedBy: "signer", Now: now})
		return err
	})
	return a
}

func get(t *testing.T, s store.Store, id string) (a agent.Agent, err error) {
	t.Helper()
	read(t, s, func(tx store.Tx) error {
		a, err = agent.Get(tx, id)
		return nil
	})
	return a, err
}

func TestAnAgentComesBackAsItWasSaved(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		want := create(t, s, "a1", "z1", 5)
		got, err := get(t, s, "a1")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("agent (-want +got):\n%s", diff)
		}
		if got.Version != 1 || got.CreatedAt != 5 || got.UpdatedAt != 5 || got.Account != "z1" {
			t.Errorf("agent = %+v", got)
		}
	})
}

func TestEverySaveIsANewVersion(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		first := create(t, s, "a1", "z1", 5)
		second := parse(t, map[string]any{"name": "Renamed", "tools": []any{}})
		var updated agent.Agent
		write(t, s, func(tx store.Tx) (err error) {
			updated, err = agent.Update(tx, agent.UpdateParams{ID: "a1", Definition: second, CreatedBy: "writer", Now: 9})
			return err
		})
		want := agent.Agent{ID: "a1", Account: "z1", Definition: second, Version: 2, CreatedAt: 5, UpdatedAt: 9}
		if diff := cmp.Diff(want, updated); diff != "" {
			t.Errorf("Update (-want +got):\n%s", diff)
		}
		if got, err := get(t, s, "a1"); err != nil || !cmp.Equal(want, got) {
			t.Errorf("Get = %+v, %v", got, err)
		}
		read(t, s, func(tx store.Tx) error {
			for _, want := range []agent.Version{
				{AgentID: "a1", Number: 1, Definition: first.Definition, CreatedBy: "signer", CreatedAt: 5},
				{AgentID: "a1", Number: 2, Definition: second, CreatedBy: "writer", CreatedAt: 9},
			} {
				got, err := agent.VersionOf(tx, "a1", want.Number)
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("version %d: %v\n%s", want.Number, err, diff)
				}
			}
			if _, err := agent.VersionOf(tx, "a1", 3); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("version 3: %v", err)
			}
			return nil
		})
	})
}

func TestAMissingAgentIsNotFound(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		d := parse(t, nil)
		for name, op := range map[string]func(tx store.Tx) error{
			"get": func(tx store.Tx) error { _, err := agent.Get(tx, "none"); return err },
			"update": func(tx store.Tx) error {
				_, err := agent.Update(tx, agent.UpdateParams{ID: "none", Definition: d})
				return err
			},
			"delete": func(tx store.Tx) error { return agent.Delete(tx, "none") },
		} {
			err := s.Write(t.Context(), store.Interactive, op)
			if fault.CodeOf(err) != fault.NotFound || err.Error() != "Agent not found" {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestTheListOfAnAccountIsNewestUpdateFirst(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		for i, id := range []string{"a1", "a2", "a3"} {
			create(t, s, id, "z1", int64(i))
		}
		create(t, s, "other", "z2", 50)
		write(t, s, func(tx store.Tx) error {
			_, err := agent.Update(tx, agent.UpdateParams{ID: "a1", Definition: parse(t, nil), Now: 99})
			return err
		})
		var ids []string
		read(t, s, func(tx store.Tx) error {
			list, _, err := agent.ListFor(tx, "z1", store.Page{})
			for _, a := range list {
				ids = append(ids, a.ID)
			}
			return err
		})
		if diff := cmp.Diff([]string{"a1", "a3", "a2"}, ids); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestDeleteTakesTheVersionsAlong(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		create(t, s, "a1", "z1", 1)
		create(t, s, "a2", "z1", 1)
		write(t, s, func(tx store.Tx) error { return agent.Delete(tx, "a1") })
		if _, err := get(t, s, "a1"); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("after the deletion: %v", err)
		}
		read(t, s, func(tx store.Tx) error {
			if _, err := agent.VersionOf(tx, "a1", 1); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("a version survived: %v", err)
			}
			_, err := agent.VersionOf(tx, "a2", 1)
			return err
		})
	})
}

func TestCheckModelUsesTheWiresTexts(t *testing.T) {
	t.Parallel()
	find := func(_ store.Tx, account, name string) (string, bool, error) {
		if account == "broken" {
			return "", false, fmt.Errorf("disk on fire")
		}
		return "openai", account == "z1" && name == "main", nil
	}
	takes := func(providerType, model string) []string {
		if providerType == "openai" && model == "o3" {
			return []string{"low", "medium", "high"}
		}
		return nil
	}
	for name, c := range map[string]struct{ account, provider, model, level, want string }{
		"no level":               {"z1", "main", "gpt", "", ""},
		"level the model takes":  {"z1", "main", "o3", "high", ""},
		"unknown provider":       {"z1", "other", "o3", "", "Model provider not found"},
		"foreign provider":       {"z2", "main", "o3", "", "Model provider not found"},
		"level that is none":     {"z1", "main", "o3", "huge", "Reasoning level is invalid"},
		"model without levels":   {"z1", "main", "gpt", "low", "Model gpt does not support a reasoning level"},
		"level it does not take": {"z1", "main", "o3", "max", "Model o3 does not support reasoning level 'max' (valid: low, medium, high)"},
		"lookup fails":           {"broken", "main", "o3", "", "disk on fire"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := agent.CheckModel(nil, c.account, c.provider, c.model, c.level, find, takes)
			if got := fmt.Sprint(err); got != c.want && !(err == nil && c.want == "") {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}
