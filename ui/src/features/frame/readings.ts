import type { Clock, Gate, Key } from "../../backend/types";
import type { IconName } from "../../components/icons";
import { en } from "../../strings/en";

/** One state in the top bar: an icon shape, a word and a colour, never the colour alone. */
export interface Reading {
  icon: IconName;
  tone: "good" | "plain" | "warning" | "bad";
  text: string;
}

function withTime(word: string, time: string): string {
  return time === "" ? word : `${word} ${time}`;
}

export function gateReading(gate: Gate): Reading {
  const text = withTime(en.frame.gateStates[gate.state], gate.since_text);
  switch (gate.state) {
    case "connected":
      return { icon: "check", tone: "good", text };
    case "connecting":
      return { icon: "hourglass", tone: "plain", text };
    case "offline":
      return { icon: "cross", tone: "bad", text };
    case "refused":
    case "identity_changed":
      return { icon: "octagon", tone: "bad", text };
    case "none":
      return { icon: "circle", tone: "plain", text: en.frame.gateStates.none };
  }
}

export function clockReading(clock: Clock): Reading {
  return clock.state === "ok"
    ? { icon: "clock", tone: "good", text: en.frame.clockOk }
    : { icon: "triangle", tone: "warning", text: en.frame.clockOff(clock.text) };
}

export function keyReading(key: Key): Reading {
  const word = en.frame.keyStates[key.state];
  const text = key.label === "" ? word : en.frame.keyNamed(key.label, word);
  switch (key.state) {
    case "active":
      return { icon: "check", tone: "good", text };
    case "waiting":
    case "rotation_due":
    case "rotating":
      return { icon: "hourglass", tone: "warning", text };
    case "stopped":
    case "removed":
    case "error":
      return { icon: "cross", tone: "bad", text };
    case "none":
      return { icon: "circle", tone: "plain", text };
  }
}
