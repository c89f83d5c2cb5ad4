# What all targets share: warnings, sanitizers, include root. Nothing is set globally.

add_library(dist_warnings INTERFACE)
add_library(dist::warnings ALIAS dist_warnings)
target_compile_options(dist_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-Werror>"
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
if(SHARDLINGS_SANITIZE)
  string(REPLACE "," ",-fsanitize=" for_nvcc "-fsanitize=${SHARDLINGS_SANITIZE}")
  target_compile_options(dist_base INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${SHARDLINGS_SANITIZE};-fno-omit-frame-pointer>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${for_nvcc},-fno-omit-frame-pointer>")
  target_link_options(dist_base INTERFACE -fsanitize=${SHARDLINGS_SANITIZE})
endif()
