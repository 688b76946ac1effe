// One conversation: its head, its transcript, the run card and the composer.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useState, useSyncExternalStore } from "react";
import { deleteSession, queries, updateSession } from "../api/operations.ts";
import type { Agent, Session } from "../api/types.ts";
import { Asked } from "../approvals/asked.tsx";
import { useWrench } from "../tools/wrench.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { Empty, explain, Failed, Skeleton } from "../ui/state.tsx";
import { useTitle } from "../ui/title.ts";
import { toast } from "../ui/toast.tsx";
import { Composer, type Draft } from "./composer.tsx";
import { contextUsed, Gauge } from "./gauge.tsx";
import { choiceOf, ModelButton } from "./model.tsx";
import { Panel } from "./panel.tsx";
import { RunCard } from "./run-card.tsx";
import { sendDraft } from "./send.ts";
import { sessionTitle } from "./session-list.tsx";
import { SessionStore, type SessionState } from "./store.ts";
import { Transcript } from "./transcript.tsx";

export function SessionPage() {
  const { sessionId } = useParams({ from: "/app/chat/sessions/$sessionId" });
  return <Conversation key={sessionId} sessionId={sessionId} />;
}

function Conversation({ sessionId }: { sessionId: string }) {
  const [store] = useState(() => new SessionStore(sessionId));
  useEffect(() => {
    void store.open();
    return () => store.close();
  }, [store]);
  const state = useSyncExternalStore(store.subscribe, store.snapshot);
  const session = state.session;
  useTitle(session ? sessionTitle(session) : "Conversation");
  const agents = useQuery(queries.agents());
  const agent = agents.data?.find((candidate) => candidate.id === session?.agentId);
  const choice = choiceOf(session, agent);
  const detail = useSearch({ from: "/app/chat/sessions/$sessionId" });
  const name = agent?.definition.name ?? "Agent";
  const wrench = useWrench(session, agent?.accessRole === "owner" || agent?.accessRole === "writer");

  if (state.error && (!session || state.error.code === "not_found")) return <Missing state={state} retry={() => void store.open()} />;
  return (
    <div className="session">
      <Head session={session} agent={agent} store={store} />
      <div className="session-body">
        {session === undefined ? (
          <div className="transcript-frame session-loading" role="status" aria-label="Loading the conversation">
            {[62, 88, 74, 46, 80].map((width) => (
              <Skeleton key={width} width={`${width}%`} height={14} />
            ))}
          </div>
        ) : state.events.length === 0 && state.pending.length === 0 ? (
          <div className="transcript-frame">
            <Empty icon="chat" title={`Say something to ${name}`}>
              What you write and what the agent does about it appears here.
            </Empty>
          </div>
        ) : (
          <Transcript store={store} state={state} agentName={name} />
        )}
        <Panel sessionId={sessionId} detail={detail} events={state.events} />
      </div>
      <div className="session-foot">
        <div className="session-foot-inner">
          {session && <Lineage session={session} />}
          {session && <Asked session={session} agent={agent} />}
          {session && <RunCard store={store} session={session} choice={choice} />}
          <Composer
            id={sessionId}
            send={(draft: Draft) => sendDraft(sessionId, draft, store)}
            placeholder={`Message ${name}`}
            busy={session === undefined}
            tools={wrench.button}
          >
            <Gauge used={contextUsed(state.events)} window={state.contextWindow} />
          </Composer>
        </div>
      </div>
      {wrench.palette}
    </div>
  );
}

/** The conversations on the other sides of continuations. */
function Lineage({ session }: { session: Session }) {
  const { continuedFrom: from, continuedTo: to } = session;
  if (!from && !to) return null;
  return (
    <p className="row wrap small muted lineage">
      {from && (
        <span>
          Goes on with{" "}
          <Link to="/sessions/$sessionId" params={{ sessionId: from.sessionId }}>
            {from.title || "an untitled conversation"}
          </Link>
        </span>
      )}
      {to && (
        <span>
          Goes on in{" "}
          <Link to="/sessions/$sessionId" params={{ sessionId: to.sessionId }}>
            {to.title || "an untitled conversation"}
          </Link>
        </span>
      )}
    </p>
  );
}

function Missing({ state, retry }: { state: SessionState; retry: () => void }) {
  if (state.error?.code === "not_found") {
    return (
      <Empty whole icon="chat" title="There is no such conversation" action={<Link to="/" className="button">All conversations</Link>}>
        It was deleted, or it belongs to somebody else.
      </Empty>
    );
  }
  return <Failed whole what="The conversation did not load" error={state.error} retry={retry} />;
}

function Head({ session, agent, store }: { session: Session | undefined; agent: Agent | undefined; store: SessionStore }) {
  const [editing, setEditing] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const navigate = useNavigate();
  const client = useQueryClient();
  return (
    <header className="session-head">
      <Link to="/" className="button quiet icon small session-back" aria-label="All conversations">
        <span className="turn back">
          <Icon name="chevron" />
        </span>
      </Link>
      {session && editing ? (
        <TitleForm session={session} done={() => setEditing(false)} store={store} />
      ) : (
        <h1 className="truncate">{session ? sessionTitle(session) : <Skeleton width={180} height={14} />}</h1>
      )}
      {session && !editing && (
        <Link to="/agents/$agentId" params={{ agentId: session.agentId }} className="small truncate session-agent">
          {agent?.definition.name ?? "Agent"}
        </Link>
      )}
      <span className="grow" />
      {session && (
        <>
          <ModelButton session={session} agent={agent} store={store} />
          <button type="button" className="button quiet icon small" aria-label="Rename" title="Rename" onClick={() => setEditing(true)}>
            <Icon name="edit" size={15} />
          </button>
          <button type="button" className="button quiet icon small" aria-label="Delete the conversation" title="Delete" onClick={() => setDeleting(true)}>
            <Icon name="trash" size={15} />
          </button>
          <Confirm
            open={deleting}
            onClose={() => setDeleting(false)}
            title={`Delete “${sessionTitle(session)}”?`}
            action="Delete the conversation"
            run={async () => {
              // The stream would say that it is deleted, and this page is left in another way.
              store.close();
              try {
                await deleteSession(session.id);
              } catch (refused) {
                void store.open();
                throw refused;
              }
              void client.invalidateQueries({ queryKey: ["sessions"] });
              await navigate({ to: "/" });
            }}
          >
            Its messages, files and runs are deleted for good. What the agent wrote into its memory stays.
          </Confirm>
        </>
      )}
    </header>
  );
}

function TitleForm({ session, done, store }: { session: Session; done: () => void; store: SessionStore }) {
  const [title, setTitle] = useState(session.title ?? "");
  const client = useQueryClient();
  const save = async (): Promise<void> => {
    const text = title.trim();
    done();
    if (text === "" || text === session.title) return;
    try {
      store.setSession((await updateSession(session.id, { title: text })).session);
      void client.invalidateQueries({ queryKey: ["sessions"] });
    } catch (error) {
      toast(`The title was not saved: ${explain(error)}`, { bad: true });
    }
  };
  return (
    <form
      className="grow"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <input
        className="input"
        aria-label="Title of the conversation"
        value={title}
        maxLength={200}
        autoFocus
        onFocus={(event) => event.target.select()}
        onChange={(event) => setTitle(event.target.value)}
        onBlur={() => void save()}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          done();
        }}
      />
    </form>
  );
}
