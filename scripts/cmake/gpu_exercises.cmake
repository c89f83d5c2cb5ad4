# Targets for the exercises for GPUs (needs.cmake); an answer in a .cu file is a kernel:
#   solution_NAME, NAME_test_object, NAME_test   as in exercises.cmake; NAME_test is for GPUs
#   NAME_host_test                               the same without: see tests/harness/gpu

set(gpu_exercises)
foreach(name IN LISTS EXERCISES)
  set(needs ${EXERCISE_${name}_needs})
  if(NEEDS_${needs}_FOR_GPU)
    list(PREPEND gpu_exercises ${name})
    set(source_${name} ${EXERCISE_${name}_chapter}/${name}${NEEDS_${needs}_SUFFIX})
  endif()
endforeach()
set(mpi_solutions)
foreach(name IN LISTS available)
  if(EXERCISE_${name}_needs IN_LIST NEEDS_nccl_USES)
    list(APPEND mpi_solutions solution_${name})
  endif()
endforeach()

# PREFIX of the target: solution_, or solution_host_ for a kernel that the host runs.
function(add_gpu_solution name prefix)
  add_library(${prefix}${name} STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/solutions/${source_${name}})
  target_link_libraries(${prefix}${name} PUBLIC dist::gpu_headers PRIVATE dist::warnings dist::whole_stacks)
endfunction()

# NAME and SUFFIX make the target; PREFIX is that of the kernels' references; LIBRARY is CUDA and NCCL, or what
# stands in their place.
function(add_gpu_test name suffix prefix library)
  set(others)
  foreach(other IN LISTS gpu_exercises)
    if(other STREQUAL name)
      continue()
    elseif(source_${other} MATCHES ".cu$")
      list(APPEND others ${prefix}${other})
    else()
      list(APPEND others solution_${other})
    endif()
  endforeach()
  set(target ${name}${suffix})
  set(needs ${EXERCISE_${name}_needs})
  add_executable(${target} EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/exercises/${source_${name}} $<TARGET_OBJECTS:${name}_test_object>)
  target_link_libraries(${target} PRIVATE
    dist::student_warnings dist::whole_stacks dist::harness_gpu dist::harness ${others} ${mpi_solutions} ${library} dist::runtime)
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests LINKER_LANGUAGE CXX)
  string(REPLACE "::" "_" library ${library})
  add_parts(${target} ${name}_test_object dist_harness_gpu dist_harness dist_runtime ${others} ${mpi_solutions} ${library}
    ${NEEDS_${needs}_PARTS})
  if(NEEDS_${needs}_PRECOMPILED_ANSWER)
    share_precompiled(${target} ${NEEDS_${needs}_PRECOMPILED_ANSWER})
  endif()
endfunction()

foreach(name IN LISTS gpu_exercises)
  add_gpu_solution(${name} solution_)
  add_library(${name}_test_object OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/${EXERCISE_${name}_chapter}/${name}_test.cpp)
  target_link_libraries(${name}_test_object PRIVATE dist::gpu_headers Catch2::Catch2 dist::warnings)
endforeach()
foreach(name IN LISTS gpu_exercises)
  add_gpu_test(${name} _test solution_ dist::on_device)
endforeach()
