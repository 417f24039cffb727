"""Programs that only read, and the exact options with which they do: closed tables.

What is not here is asked about. A program is here when its manual tells every option, and its entry holds those that
neither write, nor run anything, nor take a file of further options; rare programs and rare options are left out, as a
question costs less than a promise that does not hold. `options` says how the text of an entry is meant, `reading`
judges, and holds the programs whose words have an order or a language of their own.
"""

from typing import Final

from host.policy.shell.options import Options, entries_of


def named(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


# Whatever their words are, these neither write nor run anything, nor change what a later name means.
ANYTHING: Final = named(
    """
    : bc break cal cd clear continue dirs echo exit expr false ncal popd ps pushd pwd return shift times true type
    ulimit umask whereis which
    """,
)
# No option of these writes or runs anything, so a word that is not known may be one; those that stand there plainly
# must be in the list nevertheless.
FREE: Final[dict[str, Options]] = entries_of(
    """\
ls, dir, vdir: aAbBcCdDfF::gGhHiI:klLmnNop:qQrRsStT:uUvw:xXZ1 all almost-all author escape block-size=
  ignore-backups color[= directory dired classify[= file-type format= full-time group-directories-first no-group
  human-readable si dereference-command-line dereference-command-line-symlink-to-dir hide= hyperlink[=
  indicator-style= inode ignore= kibibytes dereference numeric-uid-gid literal hide-control-chars show-control-chars
  quote-name quoting-style= reverse recursive size sort= time= time-style= tabsize= width= context zero help version
cat: AbeEnstTuv show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting help version
head: c:n:qvz bytes= lines= quiet silent verbose zero-terminated help version
tail: c:f::Fn:qs:vz bytes= follow[= lines= max-unchanged-stats= pid= quiet silent retry sleep-interval= verbose
  zero-terminated help version
wc: cmlLw bytes chars lines files0-from= max-line-length words help version
stat: Lfc:t dereference file-system cached= format= printf= terse help version
du: 0aB:bcDd:HhkLlmPSst:X:x null all apparent-size block-size= bytes total dereference-args max-depth= files0-from=
  human-readable inodes dereference count-links no-dereference separate-dirs si summarize threshold= time
  time-style= exclude-from= exclude= one-file-system help version
df: aB:hHiklPt:Tx:v all block-size= human-readable si inodes local no-sync output[= portability sync total type=
  print-type exclude-type= help version
basename: as:z multiple suffix= zero help version
dirname: z zero help version
realpath: emLPqsz canonicalize-existing canonicalize-missing logical physical quiet relative-to= relative-base=
  strip no-symlinks zero help version
readlink: femnqsvz canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero help
  version
cut: b:c:d:f:nszM bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated
  help version
tr: cCdst complement delete squeeze-repeats truncate-set1 help version
paste: d:sz delimiters= serial zero-terminated help version
comm: 123z check-order nocheck-order output-delimiter= total zero-terminated help version
join: a:e:ij:o:t:v:1:2:z ignore-case check-order nocheck-order header zero-terminated help version
nl: b:d:f:h:i:l:n:ps:v:w: body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment=
  join-blank-lines= number-format= no-renumber number-separator= starting-line-number= number-width= help version
tac: brs: before regex separator= help version
fold: bsw: bytes spaces width= help version
fmt: cp:stuw:g: crown-margin prefix= split-only tagged-paragraph uniform-spacing width= goal= help version
expand: it: initial tabs= help version
unexpand: at: all first-only tabs= help version
cmp: bi:ln:sv print-bytes ignore-initial= verbose bytes= quiet silent help version
diff: qscuenyTrNitdpvEZbwBaC:U:W:F:x:X:S:I:D: normal brief report-identical-files context[= unified[= ed rcs
  side-by-side width= left-column suppress-common-lines show-c-function show-function-line= label= expand-tabs
  initial-tab tabsize= suppress-blank-empty recursive no-dereference new-file unidirectional-new-file
  ignore-file-name-case no-ignore-file-name-case exclude= exclude-from= starting-file= from-file= to-file=
  ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines
  ignore-matching-lines= text strip-trailing-cr ifdef= line-format= minimal horizon-lines= speed-large-files color[=
  palette= help version
md5sum, sha1sum, sha224sum, sha256sum, sha384sum, sha512sum: bctzw binary check tag text zero ignore-missing quiet
  status strict warn help version
b2sum: bcl:tzw binary check length= tag text zero ignore-missing quiet status strict warn help version
cksum: a:cl:zw algorithm= check length= tag untagged zero ignore-missing quiet status strict warn debug help version
sum: rs sysv help version
base64: diw: decode ignore-garbage wrap= help version
base32: diw: decode ignore-garbage wrap= help version
basenc: diw: base64 base64url base32 base32hex base16 base2msbf base2lsbf decode ignore-garbage wrap= z85 help
  version
factor: - help version
numfmt: d:zM debug delimiter= field= format= from= from-unit= grouping header[= invalid= padding= round= suffix= to=
  to-unit= zero-terminated help version
seq: f:s:w format= separator= equal-width help version
sleep: - help version
tsort: - help version
tty: s silent quiet help version
users: - help version
who: abdHlmpqrstTwu all boot dead heading ips login lookup process count runlevel short time mesg users message
  writable help version
whoami: - help version
id: aZgGnruz context group groups name real user zero help version
groups: - help version
logname: - help version
nproc: - all ignore= help version
printenv: 0 null help version
uname: asnrvmpio all kernel-name nodename kernel-release kernel-version machine processor hardware-platform
  operating-system help version
arch: - help version
hostid: - help version
yes: - help version
pathchk: pP portability help version
od: A:j:N:S::t:vw::abcdfilosx address-radix= endian= skip-bytes= read-bytes= strings[= format= output-duplicates
  width[= traditional help version
pr: acdD:e::Ffh:i::Jl:mn::N:o:rs::S::tTvw:W: columns= across show-control-chars double-space date-format=
  expand-tabs[= form-feed header= output-tabs[= join-lines length= merge number-lines[= first-line-number= indent=
  no-file-warnings separator[= sep-string[= omit-header omit-pagination show-nonprinting width= page-width= help
  version
grep, egrep, fgrep: EFGPe:f:iwxzsvVm:bnHhoqaId:D:rRLlcTZB:A:C:U extended-regexp fixed-strings basic-regexp
  perl-regexp regexp= file= ignore-case no-ignore-case word-regexp line-regexp null-data no-messages invert-match
  version help max-count= byte-offset line-number line-buffered with-filename no-filename label= only-matching quiet
  silent binary-files= text directories= devices= recursive dereference-recursive include= exclude= exclude-from=
  exclude-dir= files-without-match files-with-matches count initial-tab null before-context= after-context= context=
  group-separator= no-group-separator color[= colour[= binary
lsattr: RaVdlpv
column: tn:O:N:l:E:deH:R:T:W:LJr:i:p:c:o:s:x table table-name= table-order= table-columns= table-columns-limit=
  table-noextreme= table-noheadings table-header-repeat table-hide= table-right= table-truncate= table-wrap=
  keep-empty-lines json tree= tree-id= tree-parent= output-width= output-separator= separator= fillrows help version
rev: hV help version
look: adft: alternative alphanum ignore-case terminate= help version
hexdump, hd: bcCdoxL::e:f:n:s:vhV one-byte-octal one-byte-char canonical two-bytes-decimal two-bytes-octal
  two-bytes-hex color[= format= format-file= length= skip= no-squeezing help version
free: bkmghltvscwV bytes kilo mega giga tera peta kibi mebi gibi tebi pebi human si lohi total committed seconds
  count wide help version
uptime: phsV pretty help since version
w: husfoiV no-header no-current short from old-style ip-addr help version
lscpu: abBC::cJe::p::s:xyhV all online bytes caches[= offline json extended[= parse[= sysroot= hex physical
  output-all help version
lsblk: ADE:I:JMOPST::abde:filmno:prstw:x:yzhV noempty discard dedup= include= json merge output-all pairs scsi
  tree[= all bytes nodeps exclude= fs ascii list perms noheadings output= paths raw inverse topology width= sort=
  shell zoned sysroot= help version
lsns: Jlno:p:ruWt:T:hV json list noheadings output= output-all task= raw notruncate nowrap type= tree= help version
lslocks: bJino:p:ruhV bytes json noinaccessible noheadings output= output-all pid= raw notruncate help version
findmnt: smkp::w:AabCcDd:eF:fiJlN:nO:o:PRrS:T:M:t:UuvyhV fstab mtab kernel poll[= timeout= all ascii bytes
  nocanonicalize canonicalize df direction= evaluate tab-file= first-only invert json list task= noheadings options=
  output= output-all pairs pseudo shadowed submounts raw real source= target= tree mountpoint= types= uniq
  notruncate nofsroot shell verbose vfs-all help version
last, lastb: adf:Fin:Rs:t:p:wxhV hostlast dns file= fulltimes ip limit= nohostname since= until= present= fullnames
  system time-format= help version
pgrep: d:lavwcfg:G:inoO:P:s:t:u:U:xF:Lr:AhV delimiter= list-name list-full inverse lightweight count full pgroup=
  group= ignore-case newest oldest older= parent= session= terminal= euid= uid= exact pidfile= logpidfile runstates=
  ignore-ancestors cgroup= ns= nslist= help version
vmstat: afmnsdDp:S:wtyhV active forks slabs one-header stats disk disk-sum partition= unit= wide timestamp no-first
  help version
namei: xmolnvhV mountpoints modes owners long nosymlinks vertical help version
jq: cnesrRCMSfaj tab indent= arg argjson slurpfile rawfile args jsonargs compact-output null-input exit-status slurp
  raw-output raw-output0 raw-input color-output monochrome-output sort-keys ascii-output join-output stream seq
  from-file unbuffered version help
""",
    free=True,
)
# Some option of these does harm, or is not known not to. A name of two words is a sub-command, or the first option.
LISTED: Final[dict[str, Options]] = entries_of(
    """\
sort: bdfgiMhnRrVcCmsuzk:t:S: ignore-leading-blanks dictionary-order ignore-case general-numeric-sort
  ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort random-source= reverse sort=
  version-sort batch-size= check[= debug files0-from= key= merge stable buffer-size= field-separator= parallel=
  unique zero-terminated help version
uniq: cdDf:is:uzw: !1 count repeated all-repeated[= skip-fields= group[= ignore-case skip-chars= unique
  zero-terminated check-chars= help version
shuf: ei:n:rz echo input-range= head-count= random-source= repeat zero-terminated help version
tree: adfxlL:P:I:pugshDFqNQrtcUvinAJXCS !apart noreport dirsfirst filesfirst du si prune gitignore inodes device
  matchdirs ignore-case metafirst info nolinks help version
hostname: AdfiIs !0 all-fqdns domain fqdn ip-address all-ip-addresses short long version help
file: bciEkLhNnr0e:F: brief mime mime-type mime-encoding dereference no-dereference exclude= exclude-quiet=
  separator= keep-going version help extension apple raw no-pad no-buffer print0
rg: A:aB:bC:cd:E:e:Ff:g:HhIij:LlM:m:NnoPpqr:Ss.T:t:UuVvwx0 after-context= before-context= context= byte-offset
  column no-column color= colors= count count-matches case-sensitive ignore-case smart-case fixed-strings file=
  files files-with-matches files-without-match follow no-follow glob= iglob= glob-case-insensitive heading
  no-heading hidden no-hidden json line-number no-line-number line-regexp max-columns= max-columns-preview
  max-count= max-depth= max-filesize= multiline multiline-dotall no-config no-filename with-filename no-ignore
  no-ignore-vcs no-ignore-parent no-ignore-dot no-ignore-global no-messages null null-data only-matching passthru
  pcre2 pretty quiet regexp= replace= sort= sortr= stats text trim type= type-not= type-list unrestricted vimgrep
  word-regexp invert-match version help binary encoding= crlf threads= one-file-system include-zero path-separator=
  files0-from=
fd, fdfind: HIuspgiFaldLe:E:t:d:c:j:S:o:10q hidden no-ignore no-ignore-vcs no-ignore-parent unrestricted
  case-sensitive ignore-case glob regex fixed-strings absolute-path full-path follow print0 type= extension=
  exclude= max-depth= min-depth= exact-depth= color= threads= size= changed-within= changed-before= newer= older=
  owner= max-results= quiet prune and= version help strip-cwd-prefix one-file-system show-errors
less, zless: NSRFXiIMnqQrseEgGJ LINE-NUMBERS chop-long-lines RAW-CONTROL-CHARS quit-if-one-screen no-init ignore-case
  version help
more: dlfpcsu
bat, batcat: pnAl:r:H: plain number show-all language= line-range= highlight-line= style= color= decorations= paging=
  wrap= theme= tabs= version help
shellcheck: ae:i:f:s:S:W:xC:: include= exclude= format= shell= severity= wiki-link-count= external-sources check-sourced
  norc color[= version help
getfacl: acdEesRLPtpn access default omit-header all-effective no-effective skip-base recursive logical physical tabular
  absolute-names numeric version help
whatis, apropos: - help version
dmesg: HTtxkueLPrwf:l: human ctime kernel userspace level= facility= color[= reltime notime time-format= decode
  nopager follow follow-new raw json show-delta since= until= help version
journalctl: aefb::klmqrxu:o:p:g:t:S:U:n:NF: unit= user-unit= boot[= list-boots follow lines= no-pager since= until=
  output= priority= grep= reverse catalog dmesg identifier= system user quiet utc all no-tail no-hostname disk-usage
  field= fields merge case-sensitive[= output-fields= facility= no-full help version
ss: tulpnaesmiwxo46rHObETMSdZz0Vh tcp udp listening processes numeric all extended summary info memory options
  resolve no-header ipv4 ipv6 raw unix oneline events threads context packet sctp dccp mptcp help version
top: bn:d:p:u:Hciow:1S
mount: lt: !0
env: - !0
crontab -l: - !0
ldconfig -p, ldconfig --print-cache: - !0
jobs: lprsn
arp: aenv
route: nNe46 !0
netstat: rinsvWNeopclatuwxCF46g route interfaces statistics numeric listening all tcp udp programs extend
lsof: aPnlOtRUVwNi::p:u:c:s::d:F::g::
lspci: vnkmtbDd:s:x
lsusb: vts:d:
lsmod: - !0
pidof: sxqco:
pstree: aAcghlnpsStTuUGZC: arguments ascii show-pids long numeric-sort show-parents thread-names hide-threads
  uid-changes unicode compact-not
iostat, mpstat: cdhkmNpstxyzA
zcat: fqv
bzcat, xzcat: -
zipinfo: 12lmshtTzvMC !single
strings: adfn:t:wos:e: !nolists all data print-file-name bytes= include-all-whitespace radix= encoding=
  output-separator= help version
nm: aABCDgjnopPrSuUWt:f: !nolists debug-syms print-file-name demangle[= no-demangle dynamic extern-only just-symbols
  no-sort numeric-sort portability print-size size-sort reverse-sort radix= format= undefined-only defined-only
  special-syms synthetic with-symbol-versions no-weak help version
size: ABGodxt !nolists help version
objdump: afpxhdDSsgerRtTCwzj:M: !nolists archive-headers file-headers private-headers all-headers section-headers
  headers disassemble[= disassemble-all source full-contents syms dynamic-syms reloc dynamic-reloc demangle[= wide
  section= disassembler-options= start-address= stop-address= no-show-raw-insn show-raw-insn no-addresses
  visualize-jumps[= help version info
readelf: ahlSgtesnrudVADLIWx:p:R:C !nolists all file-header program-headers segments section-headers sections
  section-groups section-details headers syms symbols dyn-syms notes relocs unwind dynamic version-info
  arch-specific archive-index use-dynamic hex-dump= string-dump= histogram wide demangle[= help version
locale: amck all-locales charmaps category-name keyword-name help version
getconf: a
iconv: f:t:lcs from-code= to-code= list silent help version
history: - !0
alias: p !0
stty -a, stty size, stty speed, stty -g, tput cols, tput lines, tput colors: - !0
xmllint: - format noout nonet xpath= recover huge version
gzip, gunzip: cdltvkq stdout to-stdout list test decompress verbose keep quiet
apt list: aq installed upgradable upgradeable all-versions manual-installed quiet
apt search, apt show, apt policy, apt depends, apt rdepends, apt-cache search, apt-cache show, apt-cache showpkg,
  apt-cache policy, apt-cache depends, apt-cache rdepends, apt-cache madison, apt-cache stats, apt-cache pkgnames:
  aqn names-only all-versions installed quiet
cargo --list, cargo version, go version, pip check, pip3 check, npm root, npm prefix, snap list,
  snap version, hostnamectl status, timedatectl status, timedatectl list-timezones, git-lfs version: - !0
loginctl list-sessions, loginctl list-users, loginctl session-status, loginctl show-session, timedatectl
  show, timedatectl timesync-status: - no-pager
docker ps, podman ps: aqf:n:ls all quiet filter= format= no-trunc last= latest size
docker images, podman images: aqf: all quiet filter= format= no-trunc digests
docker logs, podman logs: ftn: follow timestamps tail= since= until= details
docker inspect, podman inspect: f:s format= size type=
docker stats, podman stats: a all format= no-stream no-trunc
docker history, podman history: Hq human quiet no-trunc format=
docker info, docker version, podman info, podman version: f: !0 format=
docker port, docker top, podman port, podman top: -
kubectl get: Awo:l:L:n: all-namespaces watch output= selector= label-columns= namespace= field-selector= show-labels
  show-kind no-headers sort-by= ignore-not-found context=
kubectl describe: An:l: all-namespaces namespace= selector= show-events= context=
kubectl logs: fpc:l:n: follow previous container= selector= namespace= since= since-time= tail= timestamps
  all-containers prefix limit-bytes= context=
kubectl top: An:l: all-namespaces namespace= selector= containers no-headers sort-by= context=
kubectl version, kubectl api-resources, kubectl explain: o: output= client short recursive namespaced= api-group=
  verbs= no-headers context=
kubectl cluster-info: - !0
dpkg -l, dpkg --list, dpkg -L, dpkg --listfiles, dpkg -s, dpkg --status, dpkg -S, dpkg --search, dpkg -p, dpkg
  --print-avail, dpkg --get-selections, dpkg -V, dpkg --verify, dpkg -c, dpkg --contents, dpkg -I, dpkg --info: -
dpkg --print-architecture, dpkg --version: - !0
dpkg-query: WlsLSpf: show list status listfiles search print-avail showformat= version help
pip list, pip3 list: le format= local editable user not-required exclude-editable
pip show, pip3 show: f files verbose
pip freeze, pip3 freeze: l local all user exclude-editable
npm ls, npm list, npm ll: alg depth= all long json parseable global prod dev
rpm -q, rpm -qa, rpm -qi, rpm -ql, rpm -qf, rpm -qR, rpm -qc, rpm -qd, rpm -qp, rpm -qpl, rpm -qpi: -
systemctl status, systemctl show, systemctl cat, systemctl is-active, systemctl is-enabled, systemctl is-failed,
  systemctl is-system-running, systemctl list-dependencies, systemctl list-sockets, systemctl list-timers, systemctl
  list-unit-files, systemctl list-units, systemctl get-default: aln:o:p:qrt: all full lines= output= property= quiet
  reverse recursive type= state= failed no-pager no-legend plain value user system
""",
)
# Programs of which anyone asks the version or the help, and they do nothing but tell. The word stands alone.
ASKED: Final = named("--version --help")
VERSIONED: Final = named(
    """
    R ar as awk aws base64 bash black bzip2 cargo cc chmod chown chgrp clang clang++ cmake conda cp csplit curl cut
    date dd deno docker dotnet ffmpeg find fish g++ gawk gcc gdb gcloud gh git git-lfs go gpg grep gzip head helm
    htop install java javac julia kill ld less ln ls lua make mkdir mkfifo mktemp mv mypy mysql nano nginx nice
    ninja nl node nodejs npm npx nvim openssl paste perl php pip pip3 podman pr psql python python2 python3
    redis-server rm rmdir rsync ruby ruff rustc rustup sed shred sort split sqlite3 ssh stat strace stty sync tail
    tar tee terraform tmux touch tr tree truncate tsc uniq unlink uv vim wc wget xargs xz zip zsh zstd
    """,
)
# Other words by which they are asked, likewise alone.
ASKED_OTHERWISE: Final = {
    "cargo": named("-V"),
    "go": named("version"),
    "java": named("-version"),
    "javac": named("-version"),
    "kubectl": named("--help"),
    "node": named("-v"),
    "npm": named("-v"),
    "php": named("-v"),
    "pip": named("-V"),
    "pip3": named("-V"),
    "psql": named("-V"),
    "python": named("-V"),
    "python2": named("-V"),
    "python3": named("-V"),
    "ruby": named("-v"),
    "rustc": named("-V"),
    "ssh": named("-V"),
    "tmux": named("-V"),
}
