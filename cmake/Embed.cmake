# outrigger_embed_schemas(OUT SYMBOL FILES a.avsc …): a source that holds the files' texts, its path in OUT.
#
# SYMBOL is a qualified function such as outrigger::kafka::protocol_schemas; it is declared where it is used as
#   [[nodiscard]] std::span<const contracts::EmbeddedSchema> protocol_schemas();
function(outrigger_embed_schemas out symbol)
  cmake_parse_arguments(A "" "" "FILES" ${ARGN})
  string(REGEX REPLACE "::[^:]*$" "" space ${symbol})
  string(REGEX REPLACE "^.*::" "" name ${symbol})
  set(entries)
  foreach(file IN LISTS A_FILES)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    file(READ ${CMAKE_CURRENT_SOURCE_DIR}/${file} text)
    cmake_path(GET file FILENAME base)
    string(APPEND entries "    {\"${base}\", R\"avsc(${text})avsc\"},\n")
  endforeach()
  set(path ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${path} @ONLY CONTENT "#include <span>

#include \"lib/contracts/registry.h\"

namespace @space@ {
namespace {
constexpr outrigger::contracts::EmbeddedSchema kSchemas[] = {
@entries@};
}  // namespace
std::span<const outrigger::contracts::EmbeddedSchema> @name@();
std::span<const outrigger::contracts::EmbeddedSchema> @name@() { return kSchemas; }
}  // namespace @space@
")
  set(${out} ${path} PARENT_SCOPE)
endfunction()

# outrigger_embed_text(OUT SYMBOL FILE): a source whose function `std::string_view SYMBOL()` gives the file's text, its path in OUT.
function(outrigger_embed_text out symbol file)
  string(REGEX REPLACE "::[^:]*$" "" space ${symbol})
  string(REGEX REPLACE "^.*::" "" name ${symbol})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${path} @ONLY CONTENT "#include <string_view>

namespace @space@ {
std::string_view @name@();
std::string_view @name@() { return R\"embedded(@text@)embedded\"; }
}  // namespace @space@
")
  set(${out} ${path} PARENT_SCOPE)
endfunction()
