import { setRailNarrow, setTheme, useRailNarrow, useTheme } from "../frame/preferences.ts";
import { Segmented } from "../ui/field.tsx";
import { SettingsHead } from "./list.tsx";

export function AppearancePage() {
  const theme = useTheme();
  const narrow = useRailNarrow();
  return (
    <>
      <SettingsHead title="Appearance" about="How this page looks in this browser." />
      <div className="card settings-list">
        <div className="settings-row">
          <span className="grow">Theme</span>
          <Segmented
            label="Theme"
            value={theme}
            options={[
              { value: "system", label: "System" },
              { value: "light", label: "Light" },
              { value: "dark", label: "Dark" },
            ]}
            onChange={setTheme}
          />
        </div>
        <div className="settings-row">
          <span className="grow">Side bar</span>
          <Segmented
            label="Side bar"
            value={narrow ? "narrow" : "wide"}
            options={[
              { value: "wide", label: "Wide" },
              { value: "narrow", label: "Narrow" },
            ]}
            onChange={(value) => setRailNarrow(value === "narrow")}
          />
        </div>
      </div>
    </>
  );
}
