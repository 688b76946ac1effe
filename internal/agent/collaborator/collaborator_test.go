package collaborator_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/agent/collaborator"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

func TestAnInvitationCountsOnceItIsAccepted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		write := func(fn func(tx store.Tx) error) {
			t.Helper()
			if err := s.Write(t.Context(), store.Interactive, fn); err != nil {
				t.Fatal(err)
			}
		}
		role := func(agent, account string) (role string) {
			t.Helper()
			err := s.Read(t.Context(), func(tx store.Tx) (err error) {
				role, err = collaborator.RoleOf(tx, agent, account)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return role
		}
		invite := func(agent, account, role string, now int64) (c collaborator.Collaborator) {
			t.Helper()
			write(func(tx store.Tx) (err error) {
				c, err = collaborator.Invite(tx, agent, account, role, now)
				return err
			})
			return c
		}
		invite("a", "z1", collaborator.Reader, 1)
		invite("a", "z2", collaborator.Writer, 2)
		invite("b", "z1", collaborator.Writer, 3)
		if got := role("a", "z1"); got != "" {
			t.Errorf("an invitation alone gives the role %q", got)
		}
		write(func(tx store.Tx) error {
			_, err := collaborator.Accept(tx, "a", "z1", 5)
			return err
		})
		if role("a", "z1") != collaborator.Reader || role("a", "z2") != "" || role("b", "z1") != "" {
			t.Error("accepting one invitation changed another's role")
		}
		want := collaborator.Collaborator{Agent: "a", Account: "z1", Role: collaborator.Writer, Status: collaborator.Accepted, CreatedAt: 1, UpdatedAt: 7}
		if diff := cmp.Diff(want, invite("a", "z1", collaborator.Writer, 7)); diff != "" {
			t.Errorf("inviting a member again (-want +got):\n%s", diff)
		}
		lists := map[string]func(tx store.Tx) ([]collaborator.Collaborator, error){
			"az1 az2": func(tx store.Tx) ([]collaborator.Collaborator, error) { return collaborator.Of(tx, "a") },
			"az1": func(tx store.Tx) ([]collaborator.Collaborator, error) {
				return collaborator.With(tx, "z1", collaborator.Accepted)
			},
			"bz1": func(tx store.Tx) ([]collaborator.Collaborator, error) {
				return collaborator.With(tx, "z1", collaborator.Pending)
			},
			"": func(tx store.Tx) ([]collaborator.Collaborator, error) { return collaborator.Of(tx, "none") },
		}
		for want, list := range lists {
			err := s.Read(t.Context(), func(tx store.Tx) error {
				rows, err := list(tx)
				got := ""
				for _, c := range rows {
					got += " " + c.Agent + c.Account
				}
				if got != " "+want && got != want {
					t.Errorf("listed %q, want %q", got, want)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for text, fn := range map[string]func(tx store.Tx) error{
			wire.MsgInviteNotFound + " to accept again": func(tx store.Tx) error {
				_, err := collaborator.Accept(tx, "a", "z1", 9)
				return err
			},
			wire.MsgInviteNotFound + " to decline":      func(tx store.Tx) error { return collaborator.Decline(tx, "a", "z1") },
			wire.MsgCollaboratorNotFound + " to remove": func(tx store.Tx) error { return collaborator.Remove(tx, "a", "z9") },
		} {
			if err := s.Write(t.Context(), store.Interactive, fn); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("%s: %v", text, err)
			}
		}
		write(func(tx store.Tx) error { return collaborator.Decline(tx, "a", "z2") })
		write(func(tx store.Tx) error { return collaborator.Remove(tx, "b", "z1") })
		write(func(tx store.Tx) error { return collaborator.RemoveAll(tx, "a") })
		if role("a", "z1") != "" {
			t.Error("a removed collaborator has a role")
		}
	})
}
