// The ways to attach files: a button, the camera of a phone, the clipboard, and dropping them anywhere on the page.

import { attach } from "../attaching.js";
import { canAttach } from "../files.js";
import { t } from "../language.js";
import { html, useEffect, useRef, useState } from "../preact.js";
import { IconButton } from "./icon.js";

const hasFiles = (event) => canAttach() && event.dataTransfer?.types.includes("Files");

/** Buttons that attach to the draft `name`. */
export function AttachButtons({ name }) {
  if (!canAttach()) return null;
  return html`<${Choose} name=${name} icon="clip" label=${t("attach")} how=${{ multiple: true }} />
    ${matchMedia("(pointer: coarse)").matches && html`<${Choose} name=${name} icon="camera" label=${t("takePhoto")} how=${{ accept: "image/*", capture: "environment" }} />`}`;
}

function Choose({ name, icon, label, how }) {
  /** @type {{ current: HTMLInputElement }} */
  const field = useRef(null);
  const take = () => {
    attach(name, [...(field.current.files ?? [])]);
    field.current.value = ""; // the same file chosen again would be no change
  };
  return html`<input type="file" hidden tabindex="-1" ref=${field} data-testid=${icon} onChange=${take} ...${how} />
    <${IconButton} name=${icon} label=${label} onClick=${() => field.current.click()} />`;
}

/** Takes files from the clipboard; whether there were any. */
export function pasteFiles(name, event) {
  const files = [...event.clipboardData.files];
  if (!files.length || !canAttach()) return false;
  event.preventDefault();
  attach(name, files);
  return true;
}

/** Lets files be dropped anywhere, and returns whether some are held over the page. */
export function useDrop(name) {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const over = (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event) => event.relatedTarget || setOver(false);
    const drop = (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      attach(name, [...event.dataTransfer.files]);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, [name]);
  return isOver;
}
