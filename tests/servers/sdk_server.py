"""A stdio MCP server as people write them: the SDK's `MCPServer` with typed tools, so it speaks both eras."""

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

server = MCPServer("sdk", version="0.1.0", instructions="Plants of the greenhouse.")


class Plant(BaseModel):
    """One plant."""

    name: str
    height: float = Field(description="centimetres")
    needs_water: bool = False


PLANTS = {
    plant.name: plant for plant in (Plant(name="fern", height=42.5, needs_water=True), Plant(name="moss", height=2))
}


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def plant(name: str) -> Plant:
    """Look a plant up by its name."""
    return PLANTS[name]


@server.tool()
def measure(name: str, height: float = Field(gt=0, description="centimetres")) -> str:
    """Write down how high a plant is now."""
    PLANTS[name] = Plant(name=name, height=height)
    return f"{name} is {height:g} cm high"


@server.tool()
async def water(names: list[str], context: Context) -> int:
    """Water plants one by one, telling the progress, and say how many were watered."""
    for done, name in enumerate(names, 1):
        PLANTS[name].needs_water = False
        await context.report_progress(done, len(names), name)
    return len(names)


if __name__ == "__main__":
    server.run()
