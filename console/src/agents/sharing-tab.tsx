// Who works with an agent, and what everybody may do with it.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { inviteCollaborator, queries, removeCollaborator, setPublicAccess, type PublicAccess } from "../api/operations.ts";
import type { Collaborator } from "../api/types.ts";
import { Remove, SettingsForm } from "../settings/list.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field, Segmented } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { explain, Failed, SkeletonRows } from "../ui/state.tsx";
import { Ago } from "../ui/time.tsx";
import { toast } from "../ui/toast.tsx";

export function SharingTab() {
  const { agentId } = useParams({ from: "/app/agents/$agentId" });
  const agent = useQuery(queries.agent(agentId));
  const sharing = useQuery(queries.collaborators(agentId));
  const client = useQueryClient();
  const [inviting, setInviting] = useState(false);
  const owner = agent.data?.agent.accessRole === "owner";
  const refresh = () => client.invalidateQueries({ queryKey: ["agents"] });
  if (sharing.isPending) return <SkeletonRows rows={3} height={56} label="Loading who works with the agent" />;
  if (sharing.isError) return <Failed what="Who works with the agent did not load" error={sharing.error} retry={() => void sharing.refetch()} />;
  const { collaborators, publicRead, publicChat } = sharing.data;
  const open = async (access: PublicAccess): Promise<void> => {
    try {
      await setPublicAccess(agentId, access);
    } catch (error) {
      toast(explain(error));
    }
    await refresh();
  };
  return (
    <div className="narrow-column stack">
      <ul className="plain card settings-list">
        {collaborators.map((who) => (
          <li key={who.accountId}>
            <Row who={who} remove={owner && who.role !== "owner" ? () => removeCollaborator(agentId, who.accountId).then(refresh) : undefined} />
          </li>
        ))}
      </ul>
      {owner && (
        <>
          <div>
            <button type="button" className="button" onClick={() => setInviting(true)}>
              <Icon name="plus" /> Invite
            </button>
          </div>
          <Segmented
            label="Everybody else who knows the agent's id"
            value={publicChat ? "chat" : publicRead ? "read" : "off"}
            options={[
              { value: "off", label: "Nothing" },
              { value: "read", label: "Read" },
              { value: "chat", label: "Chat, at your expense" },
            ]}
            onChange={(access) => void open(access)}
          />
        </>
      )}
      <Dialog open={inviting} onClose={() => setInviting(false)} title="Invite to this agent">
        <Invite agentId={agentId} done={() => void refresh().then(() => setInviting(false))} />
      </Dialog>
    </div>
  );
}

function Row({ who, remove }: { who: Collaborator; remove: (() => Promise<unknown>) | undefined }) {
  return (
    <div className="settings-row">
      <div className="grow">
        <div className="row">
          <span className="chip">{who.role}</span>
          {who.status === "pending" && <span className="status">has not accepted yet</span>}
        </div>
        <div className="mono small muted truncate">{who.accountId}</div>
      </div>
      <span className="muted small">
        since <Ago at={who.createdAt} />
      </span>
      {remove && (
        <Remove
          label={`Remove ${who.accountId}`}
          title="Remove this account?"
          text="It sees nothing of the agent any more, from its next request on."
          action="Remove the account"
          run={remove}
        />
      )}
    </div>
  );
}

function Invite({ agentId, done }: { agentId: string; done: () => void }) {
  const [account, setAccount] = useState("");
  const [role, setRole] = useState<"reader" | "writer">("reader");
  const save = async (): Promise<void> => {
    await inviteCollaborator(agentId, account.trim(), role);
    done();
  };
  return (
    <SettingsForm action="Invite" ready={account.trim() !== ""} save={save} done={done}>
      {(problem) => (
        <>
          <Field label="Account" help="Its public key, which begins with z6Mk. It works with the agent once it accepts." problem={problem}>
            <input className="input" value={account} autoFocus autoComplete="off" spellCheck={false} onChange={(event) => setAccount(event.target.value)} />
          </Field>
          <Segmented
            label="Role"
            value={role}
            options={[
              { value: "reader", label: "Reads" },
              { value: "writer", label: "Changes and chats" },
            ]}
            onChange={setRole}
          />
        </>
      )}
    </SettingsForm>
  );
}
