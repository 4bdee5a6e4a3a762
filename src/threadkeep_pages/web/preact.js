// The one place that names the vendored view library: everything else imports from here.

import { h } from "./vendor/preact-11.2.0/preact.js";
import htm from "./vendor/htm-3.1.1/htm.js";

export { Component, Fragment, createContext, createRef, h, render } from "./vendor/preact-11.2.0/preact.js";
export {
  useCallback,
  useContext,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from "./vendor/preact-11.2.0/hooks.js";
export { batch, computed, effect, signal, untracked, useComputed, useSignal } from "./vendor/signals-2.11.4/signals.js";

export const html = htm.bind(h);
