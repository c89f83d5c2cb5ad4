# The lessons' pictures of messages: every algorithm of the reference runs, and what it sends is drawn.
set(pictures ${PROJECT_SOURCE_DIR}/tests/pictures)
add_executable(pictures_test EXCLUDE_FROM_ALL
  ${pictures}/draw.cpp ${pictures}/naive_collectives.cpp ${pictures}/point_to_point.cpp ${pictures}/ring_and_tree.cpp)
target_link_libraries(pictures_test PRIVATE dist::diagrams dist::harness dist::stack dist::warnings fmt::fmt)

compile_together(pictures_test)

add_executable(draw_pictures EXCLUDE_FROM_ALL ${pictures}/main.cpp)
target_link_libraries(draw_pictures PRIVATE dist::cli dist::diagrams dist::files dist::runtime dist::warnings)
target_compile_definitions(draw_pictures PRIVATE
  REPOSITORY="${PROJECT_SOURCE_DIR}" BUILD_FOLDER="${PROJECT_BINARY_DIR}" PICTURES_TEST="$<TARGET_FILE:pictures_test>")
add_dependencies(draw_pictures pictures_test)

# More pages, where LibTorch is: who asks for pages builds it (scripts/draw_pictures).
if(LibTorch_FOUND)
  add_executable(training_pictures_test EXCLUDE_FROM_ALL ${pictures}/training.cpp)
  target_link_libraries(training_pictures_test PRIVATE
    dist::harness dist::nn dist::stack_torch dist::lines_only dist::optimised_little dist::warnings)
  target_compile_definitions(draw_pictures PRIVATE TRAINING_PICTURES_TEST="$<TARGET_FILE:training_pictures_test>")
else()
  target_compile_definitions(draw_pictures PRIVATE TRAINING_PICTURES_TEST="")
endif()
add_test(NAME pictures COMMAND draw_pictures --check)
set_tests_properties(pictures PROPERTIES LABELS pictures TIMEOUT 300)
