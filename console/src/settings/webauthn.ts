// Passkeys: the server's options as the browser wants them, and the browser's answer as the server wants it.
import { request } from "../api/client.ts";

export const passkeysSupported = (): boolean => typeof PublicKeyCredential !== "undefined" && isSecureContext;

/** The server wraps its options in publicKey; the browser's own parser turns base64url into bytes. */
interface Wrapped<T> {
  publicKey?: T;
}

const inner = <T>(options: T & Wrapped<T>): T => options.publicKey ?? options;

export async function registerPasskey(name: string): Promise<void> {
  const options = inner(await request<PublicKeyCredentialCreationOptionsJSON>("/passkeys/begin", { method: "POST", body: {} }));
  const credential = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
  if (!(credential instanceof PublicKeyCredential)) throw new Error("No passkey was made.");
  await request("/passkeys/finish", { method: "POST", body: { name, credential: credential.toJSON() } });
}

export async function signInWithPasskey(): Promise<void> {
  const options = inner(await request<PublicKeyCredentialRequestOptionsJSON>("/sign-in/passkey/begin", { method: "POST", body: {} }));
  const credential = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
  if (!(credential instanceof PublicKeyCredential)) throw new Error("No passkey was chosen.");
  await request("/sign-in/passkey/finish", { method: "POST", body: { credential: credential.toJSON() } });
}
