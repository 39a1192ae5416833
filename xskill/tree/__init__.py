"""What an X-Tree is for: showing, tiling, instances, rewards, context."""
