import type { ConsoleState } from "../../backend/types";
import { en } from "../../strings/en";

function joined(...parts: string[]): string {
  return parts.filter((part) => part !== "").join(" ");
}

/** The state of the console in words, each line whole: the top bar has room for less. */
export function stateOf(state: ConsoleState): { name: string; text: string }[] {
  const { gate, clock, key, mirror, notifications, person } = state;
  const size = mirror.size === "" ? "" : `(${en.frame.records(mirror.size)})`;
  return [
    {
      name: en.settings.person,
      text: person === null ? en.settings.nobody : `${person.name} (${person.roles.join(", ")})`,
    },
    {
      name: en.settings.environment,
      text: state.environment === null ? en.settings.none : en.environment[state.environment],
    },
    { name: en.frame.gate, text: joined(en.frame.gateStates[gate.state], gate.since_text, gate.detail) },
    { name: en.frame.clock, text: clock.state === "ok" ? en.frame.clockOk : en.frame.clockOff(clock.text) },
    {
      name: en.frame.key,
      text: joined(key.label === "" ? en.frame.keyStates[key.state] : en.frame.keyNamed(key.label, en.frame.keyStates[key.state]), key.text),
    },
    { name: en.settings.auditCopy, text: joined(en.frame.mirrorStates[mirror.state], size, mirror.text) },
    {
      name: en.settings.notificationService,
      text: notifications.available ? en.settings.available : en.settings.unavailable,
    },
  ];
}
