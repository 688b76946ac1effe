// Code that is loaded when it is first needed, without hiding what is there meanwhile.
import { useEffect, useState } from "react";

/** A module that is loaded once, whoever asks. */
export class Later<T> {
  module: T | undefined;
  private coming: Promise<T> | undefined;
  private readonly load: () => Promise<T>;

  constructor(load: () => Promise<T>) {
    this.load = load;
  }

  get(): Promise<T> {
    this.coming ??= this.load().then((module) => (this.module = module));
    return this.coming;
  }
}

/** The module, once it is there and wanted. */
export function useLater<T>(later: Later<T>, wanted: boolean): T | undefined {
  const [, arrived] = useState(later.module !== undefined);
  useEffect(() => {
    if (!wanted || later.module !== undefined) return;
    let here = true;
    later.get().then(
      () => here && arrived(true),
      // Without it the text stays as it was written. A page of an older version loads itself anew (main.tsx).
      () => undefined,
    );
    return () => {
      here = false;
    };
  }, [later, wanted]);
  return wanted ? later.module : undefined;
}
