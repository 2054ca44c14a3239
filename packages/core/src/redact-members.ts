import { type PlainValue, setMember } from './plain-value.js';
import { redactText } from './redact.js';

/** Members whose value is not shown. */
const SECRET = /pass|pwd|secret|token|private_?key|api_?key|cred|auth/i;

/** A copy of a value for logs and terminals: members that look like secrets are masked, and texts redacted. */
export function redactMembers(value: PlainValue): PlainValue {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redactMembers);
  if (typeof value !== 'object' || value === null) return value;
  const copy = {};
  for (const [name, member] of Object.entries(value))
    setMember(copy, name, SECRET.test(name) ? '***' : redactMembers(member));
  return copy;
}
