# shellcheck shell=bash
# Sourced by the findings with nginx, after common.sh.

: "${folder:?source common.bash first}"

# start_nginx PORT SERVER_DIRECTIVES HTTP_DIRECTIVES
start_nginx () {
  local directory="$folder/nginx-$1"
  mkdir "$directory"
  cat > "$directory/nginx.conf" <<CONF
daemon off;
master_process off;
pid $directory/pid;
error_log $directory/error.log;
events {}
http {
  access_log off;
  client_body_temp_path $directory/1;
  proxy_temp_path $directory/2;
  fastcgi_temp_path $directory/3;
  uwsgi_temp_path $directory/4;
  scgi_temp_path $directory/5;
  $3
  server {
    listen 127.0.0.1:$1;
    $2
  }
}
CONF
  start "$directory/log" "$folder/debian/usr/sbin/nginx" -c "$directory/nginx.conf" -p "$directory"
  wait_for_port "$1"
}
