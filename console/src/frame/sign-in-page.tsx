// The door. The printed link carries its code in the fragment, which browsers do not send: this page posts it.
import { useEffect, useRef, useState } from "react";
import { ApiError } from "../api/client.ts";
import { signIn } from "../api/operations.ts";
import { Field } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { explain } from "../ui/state.tsx";
import { useTitle } from "../ui/title.ts";
import { passkeysSupported, signInWithPasskey } from "../settings/webauthn.ts";
import { returnPath } from "./session.ts";

/** The code of a link or of its end, whichever was pasted. */
export const codeOf = (text: string): string => text.trim().replace(/^.*#/, "");

function enter(): void {
  // A full load: the new page begins with the new account and nothing else. The code leaves the history, too.
  location.replace(returnPath(new URLSearchParams(location.search).get("back") ?? "/"));
}

export function SignInPage() {
  useTitle("Sign in");
  const [code, setCode] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const posted = useRef(false);

  const attempt = async (act: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await act();
      enter();
    } catch (error) {
      setBusy(false);
      if (error instanceof ApiError && error.code === "unauthenticated") {
        setProblem("This code is wrong, was used already, or is too old. Run loam link on the server for a new one.");
      } else if (error instanceof DOMException && error.name === "NotAllowedError") {
        setProblem("The passkey was not confirmed.");
      } else {
        setProblem(explain(error));
      }
    }
  };

  useEffect(() => {
    const fragment = codeOf(location.hash);
    if (fragment === "" || posted.current) return;
    posted.current = true;
    history.replaceState(history.state, "", location.pathname + location.search);
    void attempt(() => signIn(fragment));
  }, []);

  return (
    <main className="sign-in">
      <div className="sign-in-box">
        <h1>
          <svg width="34" height="34" viewBox="0 0 32 32" aria-hidden="true">
            <rect width="32" height="32" rx="8" fill="var(--accent)" />
            <path d="M9 7v15.5h14" fill="none" stroke="var(--on-accent)" strokeWidth="3.4" strokeLinecap="round" strokeLinejoin="round" />
            <path d="M14.5 17c0-4.5 3-7.5 8.5-8 0 5.5-3 8.5-8.5 8z" fill="var(--on-accent)" opacity="0.65" />
          </svg>
          Sign in to Loam
        </h1>
        <p className="muted">
          Open the link that the server printed when it started. <code>loam link</code> on the server prints a new one.
        </p>
        <form
          className="stack"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            if (codeOf(code) !== "") void attempt(() => signIn(codeOf(code)));
          }}
        >
          <Field label="Link or code" problem={problem}>
            <input
              className="input mono"
              value={code}
              autoFocus
              autoComplete="one-time-code"
              autoCapitalize="none"
              spellCheck={false}
              onChange={(event) => setCode(event.target.value)}
            />
          </Field>
          <button type="submit" className="button primary" disabled={busy || codeOf(code) === ""}>
            {busy ? "Signing in…" : "Sign in"}
          </button>
        </form>
        {passkeysSupported() && (
          <>
            <span className="sign-in-or">or</span>
            <button type="button" className="button" disabled={busy} onClick={() => void attempt(signInWithPasskey)}>
              <Icon name="key" /> Use a passkey
            </button>
          </>
        )}
      </div>
    </main>
  );
}
