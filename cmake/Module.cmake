# One call a module, program or test: what it is made of and what it may use.
#
#   outrigger_module(NAME SOURCES a.cpp … DEPENDS other_module … PACKAGES target …)
#       library `outrigger_NAME`; its headers are included by their path from the top of the tree.
#       PACKAGES are third-party targets that its public headers need, PRIVATE_PACKAGES the others.
#   outrigger_program(NAME SOURCES … DEPENDS … PACKAGES …)    executable NAME, installed in bin
#   outrigger_test(NAME SOURCES … DEPENDS … LABEL label)      GoogleTest executable NAME, one ctest entry a case
#   outrigger_fuzzer(NAME SOURCES … DEPENDS … CORPUS dir)     libFuzzer target, built in the fuzz preset only
#
# tools/check_layers.py checks the direction of the dependencies from the includes.

function(_outrigger_common target)
  cmake_parse_arguments(A "" "LABEL;TIMEOUT;CORPUS" "SOURCES;DEPENDS;PACKAGES;PRIVATE_PACKAGES;ENVIRONMENT" ${ARGN})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE outrigger_warnings)
  list(TRANSFORM A_DEPENDS PREPEND outrigger_)
  get_target_property(kind ${target} TYPE)
  if(kind STREQUAL "EXECUTABLE")
    target_link_libraries(${target} PRIVATE ${A_DEPENDS} ${A_PACKAGES} ${A_PRIVATE_PACKAGES} Threads::Threads)
    if("thread" IN_LIST OUTRIGGER_SANITIZE)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:outrigger_tsan_threads>)
      target_link_options(${target} PRIVATE -rdynamic)
    endif()
  else()
    target_link_libraries(${target} PUBLIC ${A_DEPENDS} ${A_PACKAGES} Threads::Threads PRIVATE ${A_PRIVATE_PACKAGES})
  endif()
  target_precompile_headers(${target} REUSE_FROM outrigger_pch)
endfunction()

function(outrigger_module name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPENDS;PACKAGES;PRIVATE_PACKAGES" ${ARGN})
  add_library(outrigger_${name} STATIC ${A_SOURCES})
  _outrigger_common(outrigger_${name} ${ARGN})
endfunction()

function(outrigger_program name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPENDS;PACKAGES" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  _outrigger_common(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()

function(outrigger_test name)
  if(NOT OUTRIGGER_TESTS)
    return()
  endif()
  cmake_parse_arguments(A "" "LABEL;TIMEOUT" "SOURCES;DEPENDS;PACKAGES;ENVIRONMENT" ${ARGN})
  if(NOT A_LABEL)
    set(A_LABEL unit)
  endif()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 60)
  endif()
  add_executable(${name} ${A_SOURCES})
  _outrigger_common(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  include(GoogleTest)
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${A_LABEL} TIMEOUT ${A_TIMEOUT} ENVIRONMENT "OUTRIGGER_SOURCE_DIR=${PROJECT_SOURCE_DIR};OUTRIGGER_BINARY_DIR=${PROJECT_BINARY_DIR};${A_ENVIRONMENT}")
endfunction()

function(outrigger_fuzzer name)
  if(NOT OUTRIGGER_FUZZ)
    return()
  endif()
  cmake_parse_arguments(A "" "CORPUS" "SOURCES;DEPENDS;PACKAGES" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  _outrigger_common(${name} ${ARGN})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  add_dependencies(fuzzers ${name})
endfunction()

# add_modules(DIR…): the subfolders, in the order of their dependencies; one that is not there yet is skipped.
function(add_modules)
  foreach(dir IN LISTS ARGN)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/CMakeLists.txt)
      add_subdirectory(${dir})
    endif()
  endforeach()
endfunction()
