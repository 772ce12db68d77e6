#!/bin/sh
# The test suite as it runs elsewhere: on other processors, beside other work, with other versions.
#
#   tests/matrix.sh                all rows (`make test-matrix`); hours on two cores
#   tests/matrix.sh oldest loaded  these rows
#
#   oldest       the oldest release of everything that pyproject.toml names
#   python3.12, python3.13   without PyTorch and Opacus, whose builds are gigabytes there
#   bare         NumPy, SciPy, click and rich only: what needs more is skipped and says so
#   newest       the newest release of everything that pyproject.toml allows
#   haswell, skylakex, zen   the matrix products of these processors
#   prescott     those of an old one; NumPy, PyTorch and the C library do without AVX as well
#   loaded       beside eight processes that never rest
#
# The tests run in a random order, other in every run; the row names its seed. A row that cannot be
# run here says so. Environments are made in .matrix/ by uv, which is fetched if it is not there;
# its settings (UV_CONSTRAINT, UV_FIND_LINKS, ...) hold. Logs are in .matrix/ too. JOBS is the
# number of workers. A kernel that is set for the whole script (OPENBLAS_CORETYPE=Haswell) holds
# for the rows that do not set one.

cd "$(dirname "$0")/.." || exit 1
JOBS=${JOBS:-auto}
status=0
mkdir -p .matrix
if ! command -v uv >/dev/null; then
    PATH=$PATH:$PWD/.matrix/uv/bin
    command -v uv >/dev/null ||
        { python3 -m venv .matrix/uv && .matrix/uv/bin/python -m pip install --quiet uv; } || exit 1
fi

# environment NAME PYTHON PACKAGE... : a fresh one, unless it is there and newer than pyproject.toml
environment() {
    home=.matrix/$1 python=$2
    shift 2
    [ "$home/.installed" -nt pyproject.toml ] && return
    uv --quiet venv --clear --python "$python" "$home" &&
        uv --quiet pip install --python "$home" "$@" &&
        uv --quiet pip install --python "$home" --no-deps pytest-randomly &&
        touch "$home/.installed"
}

# run ROW HOME [NAME=VALUE]... : pages, doctests, and all tests but the slow ones
run() {
    row=$1 python=.matrix/$2/bin/python log=.matrix/$1
    shift 2
    began=$(date +%s)
    # blocks of a page build on each other: one worker each, and no other order
    env "$@" "$python" -m pytest -q -rs -n "$JOBS" --dist loadfile -p no:randomly README.md docs src \
        >"$log-docs.log" 2>&1 || status=1
    env "$@" "$python" -m pytest -q -rs -n "$JOBS" --dist worksteal --randomly-seed="$began" tests \
        >"$log.log" 2>&1 || status=1
    printf '%-12s docs %s\n%12s tests %s\n%12s %s s in all, --randomly-seed=%s\n' "$row" \
        "$(tail -n 1 "$log-docs.log")" '' "$(tail -n 1 "$log.log")" '' \
        "$(($(date +%s) - began))" "$began"
}

newest() { environment newest python3.11 -e '.[dev]'; }

# kernel ROW NAME=VALUE... : NumPy's OpenBLAS multiplies first and says which kernels it took, since
# the processor may not know their instructions, or they may be those of the row `newest`
kernel() {
    row=$1
    shift
    newest || return 1
    probe='
import numpy as np, threadpoolctl
np.linalg.svd(np.ones((300, 300)) @ np.ones((300, 300)))
print(next(each["architecture"] for each in threadpoolctl.threadpool_info() if "architecture" in each))'
    usual=$(.matrix/newest/bin/python -c "$probe") || return 1
    if ! taken=$(env "$@" .matrix/newest/bin/python -c "$probe" 2>/dev/null); then
        printf '%-12s not here: the processor does not know its instructions\n' "$row"
    elif [ "$taken" = "$usual" ]; then
        printf '%-12s as newest: both take the kernels called %s\n' "$row" "$taken"
    else
        printf '%-12s takes the kernels called %s\n' "$row" "$taken"
        run "$row" newest "$@"
    fi
}

for row in ${*:-oldest python3.12 python3.13 bare newest haswell skylakex zen prescott loaded}; do
    case $row in
    oldest)
        environment oldest python3.11 --resolution lowest-direct -e '.[test-peers,opacus]' \
            torch==2.13.0 && run oldest oldest
        ;;
    python3.*) environment "$row" "$row" -e '.[test-peers]' && run "$row" "$row" ;;
    bare) environment bare python3.11 -e '.[test]' && run bare bare ;;
    newest) newest && run newest newest ;;
    haswell) kernel haswell OPENBLAS_CORETYPE=Haswell ;;
    skylakex) kernel skylakex OPENBLAS_CORETYPE=SkylakeX ;;
    zen) kernel zen OPENBLAS_CORETYPE=Zen ;;
    prescott)
        kernel prescott OPENBLAS_CORETYPE=Prescott NPY_DISABLE_CPU_FEATURES=X86_V3 \
            ATEN_CPU_CAPABILITY=default \
            GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-AVX2_Usable,-FMA_Usable
        ;;
    loaded)
        newest || exit 1
        busy=
        for _ in 1 2 3 4 5 6 7 8; do
            (while :; do :; done) &
            busy="$busy $!"
        done
        trap 'kill $busy' EXIT
        run loaded newest
        kill $busy
        trap - EXIT
        ;;
    *)
        printf '%s: no such row\n' "$row" >&2
        exit 2
        ;;
    esac || status=1
done
exit $status
