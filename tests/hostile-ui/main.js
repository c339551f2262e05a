// As a dependency that turned hostile would be bundled: first its own code, then the real window, which works as ever.
import "./hostile.js";
import "../../ui/src/main.ts";
