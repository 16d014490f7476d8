"""The commands that `options` knows, a row each in the notation that its `_table` reads, and the kinds of risk."""

from collections.abc import Callable, Mapping

from mcp_gate.policy.shell.syntax import UNKNOWN

DISCARDED = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
READING = frozenset({"GET", "HEAD"})

# What a risky option does, and which values make it harmless.
KINDS: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "writes": ("writes a file", DISCARDED.__contains__),
    "saves": ("writes a file", (DISCARDED | {"-"}).__contains__),
    "reports": ("writes a file", lambda value: value.partition(":")[0] in ("", "term", "term-missing")),
    "runs": ("runs a program", lambda _: False),
    "loads": ("loads code or settings", lambda _: False),
    "code": ("runs code", lambda _: False),  # `python -c *` is a rule for any code: the code itself is not spelled
    "plugins": ("loads code or settings", lambda value: value.startswith("no:")),
    "sends": ("sends data", lambda _: False),
    "requests": ("asks for more than to read", READING.__contains__),
    "formats": ("may use a file", lambda value: not (value.startswith("@") or "%output{" in value or UNKNOWN in value)),
    "changes": ("changes or deletes what is there", lambda _: False),
    "connects": ("changes where it connects to", lambda _: False),
    "archives": ("may be on another host", lambda value: not {":", UNKNOWN} & {*value.partition("/")[0]}),
}


ROWS = """
sort|gsort = -k: -t: -S: -T: --key: --field-separator: --files0-from: --buffer-size: --temporary-directory:
  --parallel: --sort: writes= -o: --output: runs= --compress-program:
sed|gsed = @sed -e: -l: --expression: --line-length: writes= -i? -I? --in-place? loads= -f: --file:
awk|gawk|mawk|nawk|original-awk = @awk @early -F: -v: -e: -L? --source: --field-separator: --assign: loads= -f:
  --file: -i: --include: -l: --load: -E: --exec: -W? -D? --debug? writes= -o? --pretty-print? -d? --dump-variables?
  -p? --profile?
find|gfind = @words -name: -iname: -path: -type: changes= -delete runs= -exec -execdir -ok -okdir writes= -fprint:
  -fprint0: -fprintf: -fls:
fd|fdfind = -d: -t: -e: -E: -S: -o: -c: -j: -C: runs= -x* -X* --exec* --exec-batch*
rg = -A: -B: -C: -E: -M: -T: -d: -e: -f: -g: -j: -m: -r: -t: --pre-glob: --pretty runs= -z --search-zip --pre:
  --hostname-bin:
ag|ack|bat|batcat = runs= --pager:
tar|gtar|bsdtar = @bundle -b: -C: -H: -K: -L: -N: -V: -X: --checkpoint: --list --directory: archives= -f: --file:
  runs= -I: --use-compress-program: --checkpoint-action: --to-command: --rmt-command: --rsh-command: -F:
  --info-script: --new-volume-script: loads= -T: --files-from: writes= --index-file: -g: --listed-incremental:
  changes= -P --absolute-names --remove-files --recursive-unlink
uniq|json.tool = @second -f: -s: -w: --skip-fields: --skip-chars: --check-chars: --indent:
xxd = @second @words -c: -cols: -l: -len: -s: -seek: -g: -groupsize: -o: -offset: -n: -name: -R:
printf = @early changes= -v:
curl = -A: -b: -C: -e: -m: -P: -r: -t: -y: -Y: -z: --head saves= -o: --output: --trace: --trace-ascii:
  --stderr: -D: --dump-header: writes= -O -J --remote-name --remote-name-all --remote-header-name --output-dir: -c:
  --cookie-jar: --libcurl: --etag-save: --hsts: --alt-svc: sends= -d: --data: --data-ascii: --data-binary: --data-raw:
  --data-urlencode: -F: --form: --form-string: -T: --upload-file: --json: -u: --user: --oauth2-bearer: --variable: -n
  --netrc --netrc-file: --netrc-optional -E: --cert: --key: --mail-from: requests= -X: --request: loads= -K: --config:
  --engine: formats= -w: --write-out: -H: --header: --proxy-header: connects= -x: -U: --proxy: --preproxy: --proxy1.0:
  --socks4: --socks4a: --socks5: --socks5-hostname: --unix-socket: --abstract-unix-socket: --resolve: --connect-to:
  --doh-url: changes= -Q: --quote: --prequote: --postquote:
wget = -A: -B: -D: -I: -l: -Q: -R: -t: -T: -w: -U: -X: saves= -O: --output-document: writes= -o: --output-file: -a:
  --append-output: -P: --directory-prefix: --save-cookies: --warc-file: --rejected-log: --hsts-file: sends=
  --post-data: --post-file: --body-data: --body-file: --user: --password: --http-user: --certificate: --private-key:
  requests= --method: loads= -e: --execute: -i: --input-file: --config: runs= --use-askpass: changes= --delete-after
go = @words runs= -exec: -toolexec: -vettool: -ldflags: -gccgoflags: loads= -overlay: -modfile: writes= -o:
  -coverprofile: -cpuprofile: -memprofile: -blockprofile: -mutexprofile: -trace: -outputdir: -w
yq = -I: -p: -o: --front-matter: writes= -i --inplace --in-place -s: --split-exp: loads= --split-exp-file:
  --from-file: runs= --security-enable-system-operator
jq = --arg: --argjson: --indent: loads= -f: --from-file: -L: --library-path:
gh = @early -R: --repo: --hostname: requests= -X: --method: sends= -f: -F: --raw-field: --field: --input:
gh api = @api -f: -F: --raw-field: --field: --input: -q: --jq: -t: --template: -H: --header: -p: --preview: --cache:
  --hostname: requests= -X: --method:
python|pypy|ipython = @early -W: -X: -m! --check-hash-based-pycs: code= -c!
node|nodejs = @early -C: --test --watch code= -e: --eval: -p: --print: loads= -r: --require: --import: --loader:
  --experimental-loader: --env-file: --openssl-config: --run: --experimental-config-file:
ruby = @early -C: -E: code= -e: loads= -r: -I: writes= -i?
perl = @early -F? code= -e: -E: loads= -M? -m? -I: -d? -x? writes= -i?
php = @early -f: -t: code= -r: -B: -R: loads= -F: -E: -d: -c: -z: -S:
lua|luajit = @early code= -e: loads= -l: -j: -i -b
deno = code= eval loads= repl -c: --config: --import-map: --preload: changes= -A --allow-all --allow-run --allow-write
  --allow-ffi
bun = code= -e: --eval: -p: --print: loads= -r: --preload: --require: --import: -c: --config: runs= --shell:
make|gmake = @make -C: -f: -I: -l: -o: -W: -O? -j? loads= -E: --eval:
date|gdate = @clock -d: -f: -r: -v: -I? --date: --file: --reference: changes= -s: --set:
hostname = @any changes= -F: --file: -b
man = -s: -S: -L: -M: -m: -e: -r: -R: -E: -p: runs= -P: --pager: -H? --html? -X? --gxditview? loads= -C:
  --config-file:
less|more = @plus -b: -h: -j: -p: -P: -t: -T: -x: -y: -z: -D: loads= -k: --lesskey-file: --lesskey-src:
  --lesskey-content: writes= -o: -O: --log-file: --LOG-FILE:
sqlite3 = @sql @words -separator: -newline: -nullvalue: -vfs: -mmap: -maxsize: loads= -cmd: -init: changes= -A
rsync = -f: -B: -T: runs= -e: --rsh: --rsync-path: -M: --remote-option: loads= --config: writes= --log-file:
  --write-batch: --only-write-batch: changes= --delete --delete-before --delete-during --delete-delay --delete-after
  --delete-excluded --delete-missing-args --del --remove-source-files
scp|sftp = -c: -i: -J: -l: -P: -X: runs= -S: -D: -o: loads= -F: -b:
zip = -x: -b: -n: runs= -T -TT: --unzip-command: --test changes= -m -d --move --delete
tree|base64 = -P: -I: -L: -H: -T: writes= -o: --output: -R
split|gsplit = -a: -b: -C: -l: -n: -t: runs= --filter:
shuf|gshuf|iconv = -i: -n: -f: -t: writes= -o: --output:
dd|gdd = @of
gofmt|goimports = writes= -w
clang-format|autopep8 = writes= -i --in-place
file = writes= -C --compile
pytest|py.test = -k: -m: -r: -W: -n: --co --cov --collect-only --pdb --color: --log-level: plugins= -p: loads= -c:
  --config-file: -o: --override-ini: --pdbcls: --cov-config: --confcutdir: changes= --basetemp: sends= --pastebin:
  reports= --cov-report: writes= --junitxml: --junit-xml: --html: --report-log: --resultlog: --log-file: --debug
ruff = --output-format: writes= --fix --fix-only --unsafe-fixes -o: --output-file: --add-noqa
mypy = -m: -p: -c: --strict writes= --junit-xml: --html-report: --txt-report: --xml-report: --linecount-report:
  --any-exprs-report: --cobertura-xml-report: --lineprecision-report: --linecoverage-report: --xslt-html-report:
  --xslt-txt-report: runs= --install-types --python-executable: loads= --config-file:
npm|pnpm|yarn = @loose -global runs= -script-shell: -shell: -git: -viewer: -editor: -browser: -onload-script: loads=
  -node-options: -globalconfig: -userconfig: -registry:
mvn|mvnw = -f: -pl: -nsu -ntp -D: -P: -T: loads= -s: --settings: -gs: --global-settings: -t: --toolchains: -gt:
  --global-toolchains: writes= -l: --log-file:
gradle|gradlew = -p: -x: -D: -P: --project-dir: loads= -I: --init-script: -b: --build-file: -c: --settings-file: -g:
  --gradle-user-home: --include-build:
cargo = -p: -j: runs= --config:
eslint|prettier = -f: writes= --fix -o: --output-file: --write -w loads= -c: --config: --rulesdir: --plugin: --parser:
jdeps = @words -cp: -classpath: -s writes= -dotoutput: -dot-output: -generate-module-info: -generate-open-module:
git = @early -C: --no-pager --bare --namespace: --super-prefix: --attr-source: --no-replace-objects
  --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-lazy-fetch
  --no-advice loads= -c: --config-env: --git-dir: --work-tree: runs= --exec-path? -p --paginate
git diff|log|show|whatchanged|diff-tree|diff-index|diff-files|shortlog|range-diff|format-patch = --text -U: -n: -S:
  -G: -O: --name-only --name-status --stat --oneline --cached --staged writes= --output: --output-directory: runs=
  --ext-diff --textconv
git archive = --format: --prefix: writes= -o: --output: runs= --exec: --remote:
git grep = -e: -f: -A: -B: -C: -m: --text --cached runs= -O? --open-files-in-pager? --ext-grep --textconv
git clone|init = -b: -o: -j: --depth: --branch: --bare --quiet runs= -u: --upload-pack: loads= -c: --config:
  --template: --separate-git-dir:
git fetch|pull|push|ls-remote|fetch-pack|send-pack|submodule = -o: --tags --all runs= --upload-pack: --receive-pack:
  --exec: foreach changes= add set-url deinit
git branch = --list --sort: --format: --contains: --merged --column changes= -d -D -m -M -c -C -f -u: --delete --move
  --copy --force --set-upstream-to: --unset-upstream --edit-description
git tag = -m: -F: -u: --list --sort: --format: changes= -d -f --delete --force
git stash = --text changes= drop clear writes= --output: runs= --ext-diff --textconv
git reflog = --text changes= expire delete drop writes= --output: runs= --ext-diff --textconv
git remote = changes= add set-url remove rm rename prune set-head set-branches
git worktree = changes= add remove move prune repair lock unlock
git config = @config -f: -t: --file: --blob: --type: --default: --get --get-all --get-regexp --list --global --local
  changes= set unset rename-section remove-section edit -e --edit --add --unset --unset-all --replace-all
  --rename-section --remove-section
git symbolic-ref = @second changes= -d --delete -m:
git rebase = -s: -X: -C: --onto: runs= -x: --exec:
git bisect = runs= run
git filter-branch = runs= --setup: --env-filter: --tree-filter: --index-filter: --parent-filter: --msg-filter:
  --commit-filter: --tag-name-filter:
git difftool|mergetool = runs= -x: --extcmd: -t: --tool:
git send-email = runs= --sendmail-cmd: --smtp-server: --to-cmd: --cc-cmd:
git cat-file = runs= --textconv --filters
git hash-object = -t: changes= -w
git interpret-trailers = writes= --in-place
"""
