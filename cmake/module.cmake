# thalweg_module(NAME SOURCES file... [DEPENDS module...]): one module of src/ as a static library.
# Its headers are included as <module>/<file>.hpp, from src/.
function(thalweg_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(thalweg_${name} STATIC ${ARG_SOURCES})
  target_include_directories(thalweg_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(thalweg_${name} PUBLIC thalweg_${dependency})
  endforeach()
endfunction()
