import { useQuery, useQueryClient } from "@tanstack/react-query";
import { queries, revokeSigner } from "../api/operations.ts";
import { Ago } from "../ui/time.tsx";
import { Remove, SettingsPage } from "./list.tsx";

export function SignersPage() {
  const signers = useQuery(queries.signers());
  const client = useQueryClient();
  return (
    <SettingsPage
      title="Signers"
      about="Keys that act for this account by a capability that it signed. They may do everything but change who else acts, and secrets."
      query={signers}
      what="the signers"
      icon="key"
      empty="No signers"
      emptyText="A client that shows a capability of this account, such as a desktop application with a key of its own, appears here."
      rowKey={(signer) => signer.signerId}
      row={(signer) => (
        <div className="settings-row">
          <div className="grow">
            <div className="row">
              <strong className="truncate">{signer.label || "Unnamed signer"}</strong>
              <span className="chip">{signer.role.toLowerCase()}</span>
            </div>
            <div className="mono small muted truncate">{signer.signerId}</div>
          </div>
          <span className="muted small">
            {signer.revokedAt ? (
              <>
                <span className="status bad">revoked</span> <Ago at={signer.revokedAt} />
              </>
            ) : (
              <>
                since <Ago at={signer.createdAt} />
              </>
            )}
          </span>
          {!signer.revokedAt && (
            <Remove
              label={`Revoke ${signer.label || "the signer"}`}
              title={`Revoke ${signer.label || "this signer"}?`}
              text="It stops at its next action, and only a capability that is issued later brings it back."
              action="Revoke the signer"
              run={async () => {
                await revokeSigner(signer.signerId);
                await client.invalidateQueries({ queryKey: ["signers"] });
              }}
            />
          )}
        </div>
      )}
    />
  );
}
