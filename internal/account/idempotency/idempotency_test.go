package idempotency_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/loam-agents/loam/internal/account/idempotency"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

// once answers a request as an operation does: what was recorded, or fresh, which it then records.
func once(s store.Store, t *testing.T, k idempotency.Key, request, fresh []byte) (response []byte, err error) {
	err = s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		recorded, found, err := idempotency.Lookup(tx, k, request)
		if err != nil || found {
			response = recorded
			return err
		}
		response = fresh
		return idempotency.Record(tx, k, request, fresh, 1)
	})
	return response, err
}

func TestTheSameIDAndRequestIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		k := idempotency.Key{Account: "z", Action: "CreateAgent", ClientID: "c"}
		for _, fresh := range []string{"first", "second"} {
			got, err := once(s, t, k, []byte("req"), []byte(fresh))
			if err != nil || string(got) != "first" {
				t.Errorf("answer = %q, %v", got, err)
			}
		}
		for name, other := range map[string]idempotency.Key{
			"account": {Account: "y", Action: "CreateAgent", ClientID: "c"},
			"action":  {Account: "z", Action: "CreateSession", ClientID: "c"},
			"id":      {Account: "z", Action: "CreateAgent", ClientID: "d"},
		} {
			got, err := once(s, t, other, []byte("req"), []byte("other"))
			if err != nil || string(got) != "other" {
				t.Errorf("another %s: answer = %q, %v", name, got, err)
			}
		}
	})
}

func TestTheSameIDWithAnotherRequestIsAConflict(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		for action, want := range map[string]string{
			"CreateAgent":    "Client request ID payload mismatch",
			"MessageSession": "Client message ID payload mismatch",
		} {
			k := idempotency.Key{Account: "z", Action: action, ClientID: "c"}
			if _, err := once(s, t, k, nil, nil); err != nil {
				t.Fatal(err)
			}
			_, err := once(s, t, k, []byte("x"), nil)
			if fault.CodeOf(err) != fault.Conflict || err.Error() != want {
				t.Errorf("%s: %v", action, err)
			}
			err = s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
				return idempotency.Record(tx, k, nil, nil, 1)
			})
			if fault.CodeOf(err) != fault.Conflict {
				t.Errorf("%s recorded twice: %v", action, err)
			}
		}
	})
}

func TestConcurrentRequestsGetOneAnswer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		k := idempotency.Key{Account: "z", Action: "CreateAgent", ClientID: "c"}
		answers := make([][]byte, 8)
		var group sync.WaitGroup
		for i := range answers {
			group.Go(func() {
				var err error
				if answers[i], err = once(s, t, k, []byte("req"), []byte{byte(i)}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		for _, a := range answers {
			if !bytes.Equal(a, answers[0]) {
				t.Errorf("answers differ: %v", answers)
			}
		}
	})
}

func TestEveryRepetitionGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		type answered struct{ request, response string }
		model := map[idempotency.Key]answered{}
		names := rapid.SampledFrom([]string{"a", "b"})
		for step := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			k := idempotency.Key{
				Account: names.Draw(rt, "account"), Action: names.Draw(rt, "action"),
				ClientID: fmt.Sprint(round, names.Draw(rt, "id")),
			}
			request := names.Draw(rt, "request")
			got, err := once(s, t, k, []byte(request), []byte(fmt.Sprint(step)))
			first, repeated := model[k]
			switch {
			case !repeated:
				model[k] = answered{request, fmt.Sprint(step)}
				if err != nil || string(got) != fmt.Sprint(step) {
					rt.Fatalf("new: %q, %v", got, err)
				}
			case first.request != request:
				if fault.CodeOf(err) != fault.Conflict {
					rt.Fatalf("mismatch: %q, %v", got, err)
				}
			case err != nil || string(got) != first.response:
				rt.Fatalf("repetition: %q, %v; want %q", got, err, first.response)
			}
		}
	})
}
