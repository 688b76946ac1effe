package sessionlog

import (
	"encoding/json"
	"testing"
)

func TestPayloadsOfThePresentAndOfLaterVersionsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for version := int64(payloadVersion); version < payloadVersion+3; version++ {
		const payload = `{"type": "tool_call",  "name": "execute_code"}`
		if got, err := upcast([]byte(payload), version); err != nil || string(got) != payload {
			t.Errorf("version %d: %s, %v", version, got, err)
		}
	}
}

func TestWhatCannotBeLiftedIsAnErrorThatNamesItsVersion(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{``, `[]`, `{"attachments": {}}`, `{"attachments": ["id"]}`} {
		if got, err := upcast([]byte(payload), 0); err == nil {
			t.Errorf("%s became %s", payload, got)
		}
	}
}

func TestAStoredPlanIsReadWhateverAModelWrote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"steps":[]}`: `{"steps":[]}`, `{"title":"T"}`: `{"title":"T","steps":[]}`, `null`: `null`,
		`{"steps":["a",{"label":"b","status":"odd"},{"id":"x","status":"failed","resolvedBy":"runtime"}],"settledAt":5,"ownerRunId":"r"}`: `{"steps":[{"id":"step-1","label":"a","status":"pending"},` +
			`{"id":"step-2","label":"b","status":"pending"},{"id":"x","label":"","status":"failed","resolvedBy":"runtime"}],"ownerRunId":"r","settledAt":5}`,
	} {
		plan, err := decodePlan(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, _ := json.Marshal(plan); string(got) != want {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{``, `{"steps":"a"}`, `{"steps":[5]}`} {
		if plan, err := decodePlan(text); err == nil {
			t.Errorf("%q is read as %+v", text, plan)
		}
	}
}

func FuzzUpcast(f *testing.F) {
	f.Add([]byte(`{"name":"execute_code","attachments":[{"id":"a","name":"../b"}]}`), int64(0))
	f.Fuzz(func(t *testing.T, payload []byte, version int64) {
		got, err := upcast(payload, version)
		if err != nil || version >= payloadVersion {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%q became %q", payload, got)
		}
		again, err := upcast(got, version)
		if err != nil || string(again) != string(got) {
			t.Errorf("lifted twice: %s, %v, once: %s", again, err, got)
		}
	})
}
