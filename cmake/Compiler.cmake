# Compiler, linker and cache settings of every target.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(outrigger_warnings INTERFACE)
target_compile_options(outrigger_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # What ccache needs to see through a precompiled header.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  # A precompiled header that does not fit is an error, not a silent slow build.
  target_compile_options(outrigger_warnings INTERFACE -Winvalid-pch)
endif()

if(OUTRIGGER_SANITIZE)
  foreach(kind IN LISTS OUTRIGGER_SANITIZE)
    add_compile_options(-fsanitize=${kind})
    add_link_options(-fsanitize=${kind})
  endforeach()
  add_compile_options(-fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # GCC's manual: with sanitizers this warning has more false positives; here it comes from inside std::regex.
    # It stays an error in the other presets.
    target_compile_options(outrigger_warnings INTERFACE -Wno-maybe-uninitialized)
  endif()
  if("undefined" IN_LIST OUTRIGGER_SANITIZE)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if("thread" IN_LIST OUTRIGGER_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # GCC warns that fences are not modelled; the code here that uses them is in libstdc++ and Asio.
    add_compile_options(-Wno-tsan)
  endif()
endif()

if(OUTRIGGER_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
