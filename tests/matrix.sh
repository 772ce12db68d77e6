#!/bin/sh
# The test suite as it runs elsewhere: on other processors, beside other work, with other versions.
#
#   tests/matrix.sh                all rows (`make test-matrix`); hours on two cores
#   tests/matrix.sh oldest loaded  these rows
#
#   newest       the newest release of everything that pyproject.toml allows
#   oldest       the oldest release of everything that it names
#   bare         NumPy, SciPy, click and rich only: what needs more is skipped and says so
#   python3.12, python3.13   without PyTorch and Opacus, whose builds are gigabytes there
#   haswell, skylakex, zen   the matrix products of these processors
#   prescott     those of an old one; NumPy, PyTorch and the C library do without AVX as well
#   loaded       beside eight processes that never rest
#   shuffled     in a random order, other in every run; the log has the seed
#
# A row that cannot be run here (no such Python, no such processor) says so. Environments are made
# in .matrix/ by uv, which is fetched if it is not there; its settings (UV_CONSTRAINT,
# UV_FIND_LINKS, ...) hold. Logs are in .matrix/ too. JOBS is the number of workers.

cd "$(dirname "$0")/.." || exit 1
JOBS=${JOBS:-auto}
REST='sklearn,parquet,plot,reproduce,dp-accounting'
status=0

uv() {
    if ! command -v uv >/dev/null && [ ! -x .matrix/uv/bin/uv ]; then
        python3 -m venv .matrix/uv && .matrix/uv/bin/python -m pip install --quiet uv || exit 1
    fi
    PATH=$PATH:$PWD/.matrix/uv/bin env uv --quiet "$@"
}

# environment NAME PYTHON PACKAGE... : a fresh one, unless it is there and newer than pyproject.toml
environment() {
    home=.matrix/$1 python=$2
    shift 2
    [ "$home/.installed" -nt pyproject.toml ] && return
    uv venv --clear --python "$python" "$home" && uv pip install --python "$home" "$@" &&
        touch "$home/.installed"
}

# run ROW HOME [NAME=VALUE]... : pages, doctests, and all tests but the slow ones
run() {
    row=$1 home=$PWD/.matrix/$2
    shift 2
    began=$(date +%s)
    log=.matrix/$row
    # blocks of a page build on each other: no workers, and no other order
    env "$@" "$home/bin/python" -m pytest -q -p no:randomly README.md docs src >"$log-docs.log" 2>&1 ||
        status=1
    env "$@" "$home/bin/python" -m pytest -q -n "$JOBS" tests >"$log.log" 2>&1 || status=1
    printf '%-12s docs %s\n%12s tests %s, %s s in all\n' "$row" "$(tail -n 1 "$log-docs.log")" \
        '' "$(tail -n 1 "$log.log")" "$(($(date +%s) - began))"
}

absent() { printf '%-14s not here: %s\n' "$row" "$1"; }

newest() { environment newest python3.11 -e '.[dev]'; }

# kernel NAME [NAME=VALUE]... : the processor is asked first, since it may not know the instructions
kernel() {
    row=$1
    shift
    newest || return 1
    probe='import numpy as np; a = np.ones((300, 300)); np.linalg.svd(a @ a)'
    if env "$@" .matrix/newest/bin/python -c "$probe" 2>/dev/null; then
        run "$row" newest "$@"
    else
        absent 'the processor does not know its instructions'
    fi
}

other_python() {
    row=$1
    if ! "$row" -c '' 2>/dev/null; then
        absent 'no such interpreter'
        return
    fi
    environment "$row" "$row" -e ".[test,$REST]" cryptography pandas polars jsonschema && run "$row" "$row"
}

mkdir -p .matrix
for row in ${*:-newest oldest bare python3.12 python3.13 \
    haswell skylakex zen prescott loaded shuffled}; do
    case $row in
    newest) newest && run newest newest ;;
    oldest)
        environment oldest python3.11 --resolution lowest-direct -e '.[dev]' && run oldest oldest
        ;;
    bare) environment bare python3.11 -e '.[test]' && run bare bare ;;
    python3.*) other_python "$row" ;;
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
    shuffled)
        newest && uv pip install --python .matrix/newest --target .matrix/shuffling --no-deps \
            pytest-randomly && run shuffled newest PYTHONPATH=.matrix/shuffling
        ;;
    *) absent 'no such row' && exit 2 ;;
    esac || status=1
done
exit $status
