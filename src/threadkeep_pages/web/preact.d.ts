// The types of `preact.js`, for `make check` alone. They come from the packages whose copies are in `vendor/`.

import type { VNode } from "preact";

export { Component, Fragment, createContext, createRef, h, render } from "preact";
export {
  useCallback,
  useContext,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useReducer,
  useState,
} from "preact/hooks";
export { batch, computed, effect, signal, untracked, useComputed, useSignal } from "@preact/signals";

/** As in the package, but never null: whatever reads a reference runs while its element is there. */
export function useRef(before: null): { current: any };
export function useRef<Value>(before: Value): { current: Value };

export function html(strings: TemplateStringsArray, ...values: unknown[]): VNode;
