# shellcheck shell=bash
# sanitizer_options PRESET: what a program built with that preset is to do about what its sanitizer finds.
sanitizer_options() {
  case $1 in
    tsan) export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 suppressions=$PWD/tests/support/tsan.supp" ;;
    asan-ubsan) export ASAN_OPTIONS="detect_stack_use_after_return=1 strict_string_checks=1" UBSAN_OPTIONS="print_stacktrace=1 halt_on_error=1" LSAN_OPTIONS="suppressions=$PWD/tests/support/lsan.supp" ;;
  esac
}
