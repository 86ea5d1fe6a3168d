// Answers questions about programs in TypeScript as an editor does, by TypeScript's language service.
//
// Arguments: the paths of the programs. Standard output: JSON with an answer for each, by the name of its file. An answer
// has `mistakes`, the messages of the compiler by line, `completions`, the names that the language service offers at each
// comment `/* ▮ name */`, by the name in the comment, and `javascript`, the compiled program.
const fs = require("node:fs");
const path = require("node:path");
const ts = require("typescript");

const programs = process.argv.slice(2);
const options = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    skipLibCheck: true,
    types: ["node"],
};
const service = ts.createLanguageService({
    ...ts.sys,
    getCompilationSettings: () => options,
    getCurrentDirectory: () => path.dirname(programs[0]),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getScriptFileNames: () => programs,
    getScriptSnapshot: (name) => ts.ScriptSnapshot.fromString(fs.readFileSync(name, "utf8")),
    getScriptVersion: () => "1",
    useCaseSensitiveFileNames: () => true,
});

function answer(program) {
    const text = fs.readFileSync(program, "utf8");
    const mistakes = {};
    for (const diagnostic of [...service.getSyntacticDiagnostics(program), ...service.getSemanticDiagnostics(program)]) {
        const line = text.slice(0, diagnostic.start).split("\n").length;
        (mistakes[line] ??= []).push(ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n"));
    }
    const completions = {};
    for (const mark of text.matchAll(/\/\* ▮ (\S+) \*\//g)) {
        const offered = service.getCompletionsAtPosition(program, mark.index, {});
        completions[mark[1]] = (offered?.entries ?? []).map((entry) => entry.name).sort();
    }
    const javascript = service.getEmitOutput(program).outputFiles[0].text;
    return { mistakes, completions, javascript };
}

const answers = programs.map((program) => [path.basename(program), answer(program)]);
process.stdout.write(JSON.stringify(Object.fromEntries(answers)));
