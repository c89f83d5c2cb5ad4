# What all targets share: warnings, sanitizers, include root. Nothing is set globally.

add_library(dist_warnings INTERFACE)
add_library(dist::warnings ALIAS dist_warnings)
target_compile_options(dist_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-Werror>"
  # a precompiled header that a compiler finds no use for costs time, no build
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-error=invalid-pch>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Wall,-Wextra>")

# For a student's file: told, not stopped. A stub's parameters are unused, and that is no news.
add_library(dist_student_warnings INTERFACE)
add_library(dist::student_warnings ALIAS dist_student_warnings)
target_compile_options(dist_student_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wno-unused-parameter>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-unused-parameter>")

# Every target of the course: includes start at the repository's root.
add_library(dist_base INTERFACE)
add_library(dist::base ALIAS dist_base)
target_include_directories(dist_base INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_features(dist_base INTERFACE cxx_std_20)
# A test is linked once for each answer that is tried: by a linker that takes a third of the time, where one links
# with this compiler: not each that is there finds each compiler's libraries.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=mold MOLD_LINKS)
if(MOLD_LINKS)
  target_link_options(dist_base INTERFACE -fuse-ld=mold)
endif()
# __FILE__, which reports show, starts there too
set(relative_files -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
target_compile_options(dist_base INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${relative_files}>" "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${relative_files}>")
# Code of exercises keeps its frames: a report names the student's line, also where the call there is the last one.
add_library(dist_whole_stacks INTERFACE)
add_library(dist::whole_stacks ALIAS dist_whole_stacks)
target_compile_options(dist_whole_stacks INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-fno-optimize-sibling-calls>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fno-optimize-sibling-calls>")
# What waits for compilers, processes and LibTorch's kernels, or runs for seconds in a test: quick to build matters more
# than quick to run.
add_library(dist_built_quickly INTERFACE)
add_library(dist::built_quickly ALIAS dist_built_quickly)
if(NOT SHARDLINGS_SANITIZE)
  target_compile_options(dist_built_quickly INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-O0;-g0>")
endif()
# Tests: linked once for each answer that is tried, so with lines to show, and no more to copy.
add_library(dist_lines_only INTERFACE)
add_library(dist::lines_only ALIAS dist_lines_only)
target_compile_options(dist_lines_only INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-g1>")
if(NOT SHARDLINGS_SANITIZE)
  # GCC 12 takes the short buffer inside a string for all of it, and warns of what lies behind
  target_compile_options(dist_lines_only INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
endif()
# Tests, and the answers in them: what is slow there is LibTorch's or MPI's. A fifth of the time to compile.
add_library(dist_optimised_little INTERFACE)
add_library(dist::optimised_little ALIAS dist_optimised_little)
if(NOT SHARDLINGS_SANITIZE)
  target_compile_options(dist_optimised_little INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-O1>")
endif()

# TEST_parts: what the program TEST is linked from, without the file under test.
function(add_parts test)
  add_custom_target(${test}_parts)
  add_dependencies(${test}_parts dist_net ${ARGN})
  foreach(part IN LISTS ARGN)
    if(TARGET ${part}_sum)
      add_dependencies(${test}_parts ${part}_sum)
    endif()
  endforeach()
endfunction()

# What includes much and is seldom edited: a few files of it are compiled as one, in half the time.
# -DCMAKE_UNITY_BUILD=OFF: each alone, as scripts/check_tidy.sh reads them.
function(compile_together)
  if(NOT DEFINED CMAKE_UNITY_BUILD OR CMAKE_UNITY_BUILD)
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 40)
  endif()
endfunction()

# Headers that many files of a target include, parsed once for all of them; no file relies on it.
function(precompile target header)
  target_precompile_headers(${target} PRIVATE ${header})
  ask_for_pch_preprocess(${target})
endfunction()
# A target of its own that is nothing but such headers. Who shares them agrees with it in -Wpedantic, and in -fPIC: they are
# answers and tests, of which `check` makes shared objects (tests/harness/job/shared_job.hpp).
function(add_precompiled target header)
  set(empty ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp)
  file(CONFIGURE OUTPUT ${empty} CONTENT "")
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${empty})
  target_link_libraries(${target} PRIVATE dist::base ${ARGN})
  target_compile_options(${target} PRIVATE -fPIC)
  precompile(${target} ${header})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # in their place ccache reads this sum, where it is told to: they are 60 MB and more
    set(file ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.gch)
    add_custom_command(OUTPUT ${file}.sum DEPENDS ${file} VERBATIM
      COMMAND ${CMAKE_COMMAND} -E sha256sum ${file} > ${file}.sum)
    add_custom_target(${target}_sum DEPENDS ${file}.sum)
  endif()
endfunction()
# The same for a target that shares them with another: both are compiled with the same -f flags.
function(share_precompiled target other)
  target_precompile_headers(${target} REUSE_FROM ${other})
  target_compile_options(${target} PRIVATE -fPIC)
  ask_for_pch_preprocess(${target})
endfunction()
function(ask_for_pch_preprocess target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>")  # ccache asks for it
  endif()
endfunction()

if(SHARDLINGS_SANITIZE)
  string(REPLACE "," ",-fsanitize=" for_nvcc "-fsanitize=${SHARDLINGS_SANITIZE}")
  target_compile_options(dist_base INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${SHARDLINGS_SANITIZE};-fno-omit-frame-pointer>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${for_nvcc},-fno-omit-frame-pointer>")
  target_link_options(dist_base INTERFACE -fsanitize=${SHARDLINGS_SANITIZE})
  # For tests and harness, half of what the undefined-behaviour sanitizer costs to compile: a look at every pointer
  # before it is used. AddressSanitizer reports a null pointer as well; x86 and Arm read what is not aligned.
  add_library(dist_pointers_unchecked INTERFACE)
  add_library(dist::pointers_unchecked ALIAS dist_pointers_unchecked)
  target_compile_options(dist_pointers_unchecked INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,alignment,vptr>")
  target_link_libraries(dist_lines_only INTERFACE dist::pointers_unchecked)
endif()
