// Passkeys. The browser's own parsers turn the server's base64url into bytes and back.
import { request } from "../api/client.ts";

export const passkeysSupported = (): boolean => typeof PublicKeyCredential !== "undefined" && isSecureContext;

interface Begun<T> {
  challengeId: string;
  publicKey: T;
}

export async function registerPasskey(name: string): Promise<void> {
  const { challengeId, publicKey } = await request<Begun<PublicKeyCredentialCreationOptionsJSON>>("/passkeys/begin", { method: "POST" });
  const credential = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) });
  if (!(credential instanceof PublicKeyCredential)) throw new Error("No passkey was made.");
  await request("/passkeys/finish", { method: "POST", body: { name, challengeId, credential: credential.toJSON() } });
}

export async function signInWithPasskey(): Promise<void> {
  const { challengeId, publicKey } = await request<Begun<PublicKeyCredentialRequestOptionsJSON>>("/sign-in/passkey/begin", { method: "POST" });
  const credential = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) });
  if (!(credential instanceof PublicKeyCredential)) throw new Error("No passkey was chosen.");
  await request("/sign-in/passkey/finish", { method: "POST", body: { challengeId, credential: credential.toJSON() } });
}
