# Páginas. Uma mensagem por frase; um valor entre chavetas é escolhido por pessoas, aplicações ou operadores.

next = A seguir
next-client = Voltar a { $app }
next-account = A sua conta
next-code = Um código chega por e-mail
next-way-in = A forma de entrar
next-stop = Nada muda na conta
next-report = Escolhe uma nova forma de entrar
next-device = O pedido do dispositivo aparece aqui
next-device-back = Volte ao seu dispositivo
language = Idioma
theme = Cores
theme-device = Como o dispositivo
theme-light = Claras
theme-dark = Escuras
date = { $day } de { $month ->
    [1] janeiro
    [2] fevereiro
    [3] março
    [4] abril
    [5] maio
    [6] junho
    [7] julho
    [8] agosto
    [9] setembro
    [10] outubro
    [11] novembro
   *[12] dezembro
} de { $year }
skip = Saltar para o conteúdo
continue = Continuar
or = ou
start-again = Começar de novo
show = Mostrar
hide = Ocultar
email = E-mail
password = Senha

## Entrar

sign-in = Entrar
sign-in-passkey = Entrar com uma chave de acesso
sign-in-with = Entrar com { $name }
sign-on-only = A sua organização usa o seu próprio fornecedor para entrar.
to-continue = para continuar em { $app }
to-approve = para que a sua aprovação a { $app } conte
to-join = para aderir a { $organization }
new-here = Primeira vez aqui?
create-account = Criar uma conta
welcome-back = Olá de novo, { $name }
not-you = Outra pessoa?
choose-account-title = Escolha uma conta
choose-account-current = Em uso
choose-account-other = Usar outra conta
switch-account = Trocar de conta
password-title = Escreva a sua senha
forgot-password = Esqueceu a senha?
other-ways = Outras formas
way-passkey = Usar uma chave de acesso
way-password = Usar a senha
way-totp = Usar a aplicação de códigos
way-email-code = Receber um código por e-mail
way-magic-link = Receber um link por e-mail
way-sms-code = Receber um código por SMS
way-recovery-code = Usar um código de recuperação
second-factor-title = Mais um passo
proof-title = Confirme o seu e-mail
prove-title = Confirme a sua identidade
email-code-title = Veja o seu e-mail
email-code-text = Se houver uma conta para { $email }, um código de seis algarismos vai a caminho.
email-code-text-anonymous = Um código de seis algarismos vai a caminho.
sms-code-title = Veja o seu telefone
sms-code-text = Se houver um telefone nesta conta, um código de seis algarismos vai a caminho.
totp-title = Escreva o código da sua aplicação
totp-text = A aplicação de códigos mostra seis algarismos.
recovery-code-title = Escreva um código de recuperação
recovery-code-text = Cada um dos códigos que guardou serve uma vez.
recovery-code-label = Código de recuperação
code-label = Código de seis algarismos
send-again = Enviar de novo
send-code = Receber um código
link-sent-title = Veja o seu e-mail
link-sent-text = Se houver uma conta para { $email }, um link vai a caminho.
link-sent-text-anonymous = Um link vai a caminho.
link-sent-browser = Abra o link neste navegador.
link-title = Falta um clique
link-text = O link é válido. Continue para o usar.
upgrade-title = Entre mais depressa da próxima vez
upgrade-text = Crie uma chave de acesso, e o rosto, o dedo ou o bloqueio do dispositivo substitui a senha.
upgraded-title = A sua chave de acesso está pronta
upgraded-text = Use-a da próxima vez que entrar.

## Criar uma conta

given-name = Nome
family-name = Apelido ou sobrenome
have-account = Já tem uma conta?
join-title = Aderir a { $organization }
invited-as = O convite é para { $email }.
another-address = Usar outro e-mail
sent-to-new = Uma mensagem para { $email } vai a caminho.
new-passkey-title = Crie uma chave de acesso
new-passkey-text = Entre com o rosto, o dedo ou o bloqueio do dispositivo. Não há nada para decorar.
make-passkey = Criar uma chave de acesso
make-passkey-instead = Criar antes uma chave de acesso
passkey-needs-script = As chaves de acesso precisam de JavaScript, que está desligado neste navegador. Escolha outra forma.
passkey-needs-browser = Este navegador não tem chaves de acesso. Escolha outra forma.
choose-password = Escolher antes uma senha
new-password-title = Escolha uma senha
new-password-text = Algumas palavras que não usa em mais lado nenhum.
new-password = Nova senha
password-hint = { $number ->
    [one] Pelo menos um carácter.
   *[other] Pelo menos { $number } caracteres. Os espaços contam.
}
save-continue = Guardar e continuar
not-now-button = Agora não
verify-text = Um código de seis algarismos é enviado para { $email } quando o pedir.
work-needs-script = Criar uma conta precisa de JavaScript: o navegador resolve uma pequena tarefa, que afasta os programas. Ligue-o para esta página e abra-a de novo.

## Recuperação

reset-title = Recupere a sua conta
reset-text = Escreva o seu e-mail. Se houver uma conta, enviamos um código.
recovery-ends-sessions = Ao guardar, todas as outras sessões terminam.
recovery-by-mail = Muda a senha e mais nada: as chaves de acesso e a aplicação de códigos ficam. Todas as sessões terminam.
save-password = Guardar a senha
recovered-title = A conta é sua outra vez
recovered-text = Todas as sessões terminaram. Entre com o que acabou de escolher.
stop-title = Parar a recuperação da sua conta?
stop-text = Há um pedido para escolher uma nova forma de entrar na sua conta. Se o pedido não é seu, pare-o.
stop-button = Parar
stop-own = Se o pedido é seu, feche esta página: nada acontece.
stop-late = Esta recuperação acabou: foi concluída, parada ou demorou demais. Se não foi iniciativa sua, recupere a conta.
stop-busy = Houve demasiados pedidos. Espere um minuto e tente de novo.
stopped-title = A recuperação foi parada
stopped-text = Nada foi alterado. Quem lê o seu e-mail pode tentar de novo: proteja também a caixa de correio.

## Aplicação de códigos e códigos de recuperação

enrol-totp-title = Junte uma aplicação de códigos
enrol-totp-text = Leia a imagem com a aplicação e escreva o código que ela mostra.
qr-label = Imagem para a aplicação de códigos
totp-key = Ou escreva esta chave na aplicação
turn-on = Ligar
show-qr = Mostrar a imagem
codes-title = Guarde estes códigos de recuperação
codes-text = Cada um serve uma vez, quando não puder usar a chave de acesso ou a aplicação. Guarde-os onde só a própria pessoa os encontre.
codes-once = Aparecem uma vez
codes-why = Não guardamos nenhuma cópia legível
codes-kept = Já os guardei
copy = Copiar
copied = Copiado
print = Imprimir

## Organização e autorização

organization-title = Para qual organização?
organization-none = Não pertence a nenhuma organização que se possa usar agora. Fale com a administração da sua.
suspended = Suspensa
consent-short = Autorizar o acesso
consent-title = Autorizar { $app } a usar a sua conta?
badge-verified = Verificada
badge-self-registered = Inscreveu-se sozinha
another-person = Entrar como outra pessoa
self-registered = Esta aplicação inscreveu-se sozinha
self-registered-text = A administração não a verificou. Autorize apenas se começou isto por iniciativa própria.
leads-to = Leva a
you = Conta
speaks-for = Em nome de
consent-actions = Em { $api }, poderia
consent-actions-none = Poderia
consent-personal = Sobre a sua pessoa, poderia
consent-claim = Conhecer { $claim ->
    [name] o seu nome completo
    [given_name] o seu nome
    [family_name] o seu apelido ou sobrenome
    [middle_name] o seu nome do meio
    [nickname] o nome que usa no dia a dia
    [preferred_username] o nome que prefere usar
    [profile] a sua página de perfil
    [picture] a sua fotografia
    [website] o seu site na Internet
    [email] o seu e-mail
    [email_verified] o seu e-mail e se foi confirmado
    [gender] o seu género ou gênero
    [birthdate] a sua data de nascimento
    [zoneinfo] o seu fuso horário
    [locale] o seu idioma
    [phone_number] o seu telefone
    [phone_number_verified] o seu telefone e se foi confirmado
    [address] a sua morada ou endereço postal
    [updated_at] a última alteração do seu perfil
   *[other] { $claim }
}
consent-grants = Pode atribuir funções e chaves em seu nome
consent-grants-text = O que der a outros pode incluir tudo o que lhe é permitido noutras APIs, e fica mesmo que termine isto.
consent-end = Nunca vê a sua senha. Pode terminar isto a qualquer momento na sua conta.
scope-profile = Conhecer o seu nome e perfil
scope-email = Conhecer o seu e-mail
scope-phone = Conhecer o seu telefone
scope-groups = Conhecer as suas funções na organização
scope-address = Conhecer a sua morada ou endereço postal
scope-offline-access = Continuar na sua ausência
action-read = Ver { $what }
action-write = Criar e alterar { $what }
action-other = Usar { $what }
allow = Autorizar
deny = Recusar
its-policy = Política de privacidade
its-terms = Termos

## Dispositivos

device-sign-in = para ligar um dispositivo
device-code-title = Ligar um dispositivo
device-code-text = Escreva o código que o dispositivo mostra.
device-code-check = É este o código que o dispositivo mostra? Compare antes de continuar.
device-code-label = Código
device-title = Ligar este dispositivo?
device-connect = Ligar { $app }?
device-compare = O seu dispositivo tem de mostrar este código
device-warning = Diga que sim apenas se o dispositivo está à sua frente
device-warning-text = Se uma mensagem ou chamada indicou esta página, o dispositivo é de outra pessoa: diga que não.
device-network = Pedido de
device-agent = O dispositivo diz
device-no = Não
device-yes = Sim, ligar
device-done-title = O seu dispositivo está ligado
device-done-text = Volte ao dispositivo. Pode fechar esta página.
device-denied-title = O dispositivo não foi ligado
device-denied-text = Nada foi alterado. Pode fechar esta página.
approve-title = Aprovar este pedido?
approve-asks = { $app } pede a sua aprovação
approve-message = A aplicação tem de mostrar também esta mensagem
approve-warning = Aprove apenas o que espera
approve-warning-text = Se o pedido não vem de uma ação sua, recuse-o. Também pode impedir que esta aplicação volte a pedir.
approve-until = Espera até
approve-until-time = { $time } UTC
approve-lasts = O acesso termina
approve-lasts-session = O mais tardar quando sair
approve-lasts-days = { $number ->
    [one] Quando o terminar na sua conta, ou após um dia
   *[other] Quando o terminar na sua conta, ou após { $number } dias
}
approve-no = Recusar
approve-block = Recusar e bloquear a aplicação
approve-yes = Aprovar
approve-next = Nada é autorizado antes da sua decisão
approve-proved-next = O pedido fica aprovado assim que confirmar
approve-done-title = O pedido foi aprovado
approve-done-text = A aplicação recebe a resposta. Pode fechar esta página.
approve-denied-title = O pedido não foi aprovado
approve-denied-text = Nada foi autorizado. Pode fechar esta página.
factor-missing-title = Falta um segundo fator
factor-missing-text = A sua conta tem uma só forma de entrar, e isto precisa de duas. Adicione primeiro uma chave de acesso ou uma aplicação de autenticação. Nada foi alterado.
approve-factor-title = Falta um segundo fator
approve-factor-text = O que é pedido não pode ser desfeito, e a sua conta tem uma só forma de entrar. Adicione uma chave de acesso ou uma aplicação de autenticação e abra o pedido outra vez. Nada foi autorizado.
to-security = Adicionar um segundo fator
approve-void-title = Nenhum pedido espera por si
approve-void-text = Pode ter sido decidido antes, ou o seu tempo terminou.

## A conta de uma pessoa

account-title = A sua conta
sections = Partes da sua conta
profile = Perfil
name = Nome
full-name = Nome completo
full-name-hint = Como aparece. Sem ele, aparecem o nome e o apelido.
nickname = Alcunha
no-language = Não indicado
time-zone = Fuso horário
time-zone-hint = Por exemplo, Europe/Lisbon.
birthdate = Data de nascimento
birthdate-hint = Ano, mês, dia: 1990-02-28.
website = Site
addresses = E-mail e telefone
phone-number = Número de telefone
phone-hint = Com o código do país e sem espaços: +351910000000.
no-phone = Sem número de telefone
confirmed = Confirmado
not-confirmed = Por confirmar
confirm-now = Confirmar agora
waits-for-code = À espera do código
enter-code = Escrever o código
new-email = Usar outro e-mail
new-email-text = Um código é enviado para o novo e-mail. Até ser escrito aqui, { $name } continua em uso e recebe um aviso.
confirm-email = Confirme o novo e-mail
new-phone = Usar outro telefone
new-phone-text = Um código é enviado para ele.
confirm-phone = Confirme o telefone
confirm-text = Escreva o código enviado para { $name }.
remove-phone = Remover o telefone?
remove-phone-text = Deixam de ser enviados códigos para { $name }.
add = Juntar
remove = Remover
rename = Mudar o nome
ways-in = Formas de entrar
add-passkey = Juntar uma chave de acesso
rename-passkey = Dê um nome à chave de acesso
rename-passkey-text = Agora chama-se { $name }.
identities = Acessos de outros fornecedores
linked-on = ligado a { $date }
link-hint = Entre lá uma vez e passe a entrar por ali.
link = Ligar
link-not = Não ligar
unlink = Desligar
identity-already-linked = Este acesso já está ligado a uma conta.
begin-again = Entretanto algo mudou. Comece de novo.
link-begin = Ligar um acesso
link-begin-text = Entre uma vez no outro fornecedor. Depois pergunta-se se o quer ligar.
unlink-title = Desligar?
unlink-text = Deixa de poder entrar por { $name }. O que só abriu por ali termina.
linking-title = Ligar este acesso?
linking-text = A partir de agora, um acesso em { $connection } serve para aquilo a que se destina.
remove-passkey = Remover a chave de acesso?
remove-passkey-text = Deixa de poder entrar com { $name }.
add-totp = Juntar uma aplicação de códigos
replace-totp = Trocar a aplicação de códigos
remove-totp = Remover a aplicação de códigos?
remove-totp-text = Os códigos deixam de funcionar aqui, e a senha basta onde não se pede mais.
totp-app = Aplicação de códigos
totp-app-text = O código é pedido depois da senha.
recovery-codes = Códigos de recuperação
new-codes = Criar novos códigos de recuperação?
new-codes-text = Os que guardou deixam de funcionar.
make-codes = Criar novos
codes-left = { $number ->
    [one] Resta um
   *[other] Restam { $number }
}
no-password = Nenhuma
set-password-text = As outras sessões terminam, a não ser que as mantenha.
keep-sessions = Manter as outras sessões
remove-password = Remover a senha?
remove-password-text = Passa a entrar pelas outras formas.
mailed-code = Código por e-mail
mailed-code-text = Enviado para o seu e-mail quando entra com ele.
added-on = Desde { $date }
last-used-on = última utilização em { $date }
back-to-account = Voltar à sua conta
nav-sessions = Sessões
manage-organization = Gerir organização
my-sessions = Sessões abertas
this-session = Esta sessão
seen-at = última atividade em { $at }
signed-in-at = Desde { $at }
at-time = { $date }, { $time } UTC
device-on = { $browser } em { $system }
device-unknown = Dispositivo desconhecido
end-session = Terminar
end-sessions = Sair em todo o lado?
end-sessions-text = Todas as sessões terminam, esta também, e cada aplicação tem de pedir de novo.
end-sessions-button = Sair em todo o lado
my-applications = Aplicações ligadas
no-applications = Aqui aparecem as aplicações em que entra.
my-approvals = O que espera pela sua decisão
decide = Ver o pedido
my-blocked = Aplicações que não lhe podem pedir nada
let-ask = Deixar pedir outra vez
disconnect = Desligar
tree-title = O que as aplicações têm agora
tree-text = Cada linha termina com aquela que está por cima. Terminar uma termina também tudo o que está por baixo.
tree-session = Uma sessão
tree-key = Uma chave de API
tree-client = Uma aplicação em nome próprio
tree-grant = Na posse da aplicação
tree-delegation = Passado à aplicação
tree-act = Agem:
tree-until = Até
tree-end = Terminar
my-organizations = Organizações
no-organizations = Aqui aparecem as organizações a que pertence.
suspended-member = Nada confere até voltar a ser ativada, e até lá não se pode sair dela.
open = Abrir
leave = Sair
leave-title = Sair da organização?
leave-text = Perde o que pode fazer em { $name }. Para voltar precisa de um convite.
my-history = Histórico
older = Entradas mais antigas
history-event = { $event ->
    [account-created] A conta foi criada
    [account-changed] O perfil foi alterado
    [account-email_proposed] Foi pedido outro e-mail
    [account-email_changed] O e-mail foi alterado
    [account-email_verified] O e-mail foi confirmado
    [account-phone_proposed] Foi pedido outro telefone
    [account-phone_changed] O telefone foi alterado
    [account-phone_removed] O telefone foi removido
    [account-proof_failed] Um código errado foi escrito para um novo endereço
    [account-suspended] A conta foi suspensa
    [account-enabled] A conta foi ativada de novo
    [account-sessions_ended] Todas as sessões foram terminadas
    [account-deletion_requested] Foi pedida a eliminação da conta
    [account-deletion_cancelled] A eliminação da conta foi anulada
    [account-recovery_issued] Foi criado um link para recuperar a conta
    [account-recovered] A conta foi recuperada
    [account-administration_granted] A administração de organizações foi concedida
    [account-administration_revoked] A administração de organizações foi retirada
    [recovery-started] Começou uma recuperação
    [recovery-stopped] Uma recuperação foi parada
    [sign_in-succeeded] Entrada na conta
    [sign_in-failed] Uma entrada falhou
    [sign_in-superseded] Uma entrada que esperava foi recusada: aquilo que a provava mudou
    [sign_in-new_device] Entrada a partir de um dispositivo novo
    [sign_in-impossible_travel] Entrada a partir de um lugar demasiado longe do anterior
    [account-reported] Uma entrada ou alteração foi comunicada: “não fui eu”
    [account-report_denied] Um aviso foi confirmado: “fui eu”
    [credential-proved] Começou uma entrada na conta
    [session-renewed] Identidade confirmada de novo
    [session-ended] Uma sessão terminou
    [enrolment-failed] Uma nova forma de entrar não funcionou
    [authorization-granted] Entrada numa aplicação
    [token_family-revoked] Uma aplicação devolveu o acesso
    [token_family-ended] O acesso de uma aplicação terminou
    [refresh_token-reused] Um token já usado de uma aplicação voltou, e o acesso dela terminou
    [authorization_code-replayed] Um código já usado de uma aplicação voltou, e o acesso dela terminou
    [consent-given] Uma aplicação foi autorizada
    [consent-withdrawn] Uma aplicação foi desligada
    [approval-asked] Uma aplicação pediu uma aprovação
    [approval-given] Um pedido de uma aplicação foi aprovado
    [approval-denied] Um pedido de uma aplicação foi recusado
    [approval-client_blocked] Uma aplicação foi impedida de pedir
    [approval-client_unblocked] Uma aplicação pode pedir outra vez
    [device-approved] Um dispositivo foi ligado
    [device-denied] Um dispositivo foi recusado
    [device-user_code_wrong] Um código errado de um dispositivo foi escrito
    [credential-password_set] Uma senha foi definida
    [credential-password_removed] A senha foi removida
    [credential-passkey_added] Uma chave de acesso foi adicionada
    [credential-passkey_renamed] O nome de uma chave de acesso foi alterado
    [credential-passkey_removed] Uma chave de acesso foi removida
    [credential-passkey_counter_regressed] Uma chave de acesso pode ter sido copiada
    [credential-totp_enrolled] Uma aplicação de códigos foi adicionada
    [credential-totp_removed] A aplicação de códigos foi removida
    [credential-recovery_codes_set] Novos códigos de recuperação foram criados
    [credential-recovery_code_used] Um código de recuperação foi usado
    [identity-linked] Foi ligado um acesso de outro fornecedor
    [identity-unlinked] Foi desligado um acesso de outro fornecedor
    [membership-created] Adesão a uma organização
    [membership-changed] As funções numa organização mudaram
    [membership-ended] Uma participação terminou
    [membership-resumed] Uma participação foi retomada
    [invitation-accepted] Um convite foi aceite
    [apikey-created] Uma chave de API foi criada
    [apikey-rotated] Uma chave de API foi substituída
    [apikey-revoked] Uma chave de API foi revogada
    [token-exchanged] Uma aplicação passou o acesso a outra
    [impersonation-began] A administração agiu em seu nome
    [throttle-unlocked] As tentativas falhadas foram esquecidas
   *[other] { $name }
}
history-by = { $who ->
    [operator] (pelo operador)
    [node] (pelo servidor)
    [api_key] (por um programa)
   *[other] (pela administração)
}
my-data = Os seus dados
export-title = Guardar os seus dados
export-text = Tudo o que se guarda sobre a sua conta, num só documento, e nenhum dos seus segredos.
export-button = Guardar
deletion-title = Eliminar a conta
deletion-text = As sessões terminam de imediato em todo o lado. A conta é apagada passado algum tempo, e entrar antes disso mantém-na.
delete-account = Eliminar a conta
delete-title = Eliminar a sua conta?
delete-text = As sessões terminam agora em todo o lado. Passados { $name } dias a conta é apagada, e nada dela volta. Para a manter, entre antes disso.
delete-button = Eliminar a minha conta
deleted-title = A sua conta vai ser eliminada
deleted-text = É apagada em { $date }. Para a manter, entre antes desse dia.
wrong-field = Não foi aceite. Confirme e tente de novo.
wrong-proof = O código não corresponde ou é demasiado antigo. Veja a mensagem mais recente ou peça outro código.
last-way-in = Não restaria nenhuma forma de entrar. Junte primeiro outra.
last-administrator = Nenhum outro membro pode gerir os membros. Deixe primeiro outro fazê-lo.
leave-suspended = A organização está suspensa, e não se pode sair dela até voltar a ser ativada.
codes-need-factor = Os códigos de recuperação substituem uma chave de acesso ou uma aplicação de códigos. Junte primeiro uma.
address-taken = Outra conta já usa este e-mail. Escolha outro.
no-channel = Daqui não se pode enviar um código para lá.
outcome-unknown = Não se sabe se isto foi feito. Veja antes de repetir.
wait-minutes = { $number ->
    [one] Muitas tentativas. Espere um minuto.
   *[other] Muitas tentativas. Espere { $number } minutos.
}

## Uma organização, para quem cuida dela

org-title = Organização
org-choose = As suas organizações
org-suspended-text = Nada se pode ver nem alterar nela até voltar a ser ativada. Fale com quem administra { $host }.
org-nothing = Não tem nenhuma permissão para cuidar desta organização. Fale com a administração.
org-sections = Partes da organização
org-members = Membros
org-invitations = Convites
org-roles = Funções
org-keys = Chaves de API
org-clients = Aplicações
org-domains = Domínios
org-trail = Histórico
org-scim = Diretório
org-scim-text = Um diretório como o Entra ID ou o Okta cria e termina membros aqui por SCIM, e preenche funções como grupos.
org-scim-address = Endereço a colar no diretório
org-scim-keys = Chaves de diretórios
org-scim-make-key = Criar uma chave para um diretório
org-scim-key-hint = Um diretório distribui todas as funções; por isso só uma pessoa que tem tudo o que as funções conferem pode criar a sua chave.
org-scim-activity = O que os diretórios fizeram por último
org-scim-quiet = Nada no histórico.
org-other = Outras organizações
org-done = Feito.
org-prove-text = Para alterar algo aqui, confirme primeiro a sua identidade.
org-weak-text = Esta organização pede mais do que já provou. Confirme a sua identidade; sem uma chave de acesso ou uma aplicação de códigos, adicione primeiro uma à sua conta.
org-prove = Confirmar a identidade
org-empty = Não há nada aqui.
org-find = Procurar
org-change = Alterar
org-all = Voltar à lista completa
org-next-page = Página seguinte
org-ended = Terminada
org-held-roles = Funções
org-roles-hint = Nomes de funções, separados por espaços.
org-save = Guardar
org-end = Terminar a participação
org-begin = Retomar a participação
org-until = Válido até { $date }
org-withdraw = Retirar
org-invite-title = Convidar uma pessoa
org-invite = Enviar o convite
org-new-role = Nova função
org-role-hint = Letras minúsculas, algarismos, hifens e sublinhados.
org-permissions = Permissões
org-permissions-hint = Uma por linha, como invoices:read ou invoices:*. Só se pode dar o que se tem.
org-remove-role = Remover a função
org-revoked = Revogada
org-overlap = A chave anterior funciona
org-overlap-none = só até agora
org-overlap-hour = mais uma hora
org-overlap-day = mais um dia
org-rotate = Substituir
org-revoke = Revogar
org-new-key = Nova chave de API
org-key-end = Válida até (opcional)
org-make-key = Criar a chave
org-key-title = Guarde esta chave
org-key-text = Só aparece desta vez. Um programa que a tenha pode fazer o que a chave permite.
org-key-kept = Já guardei
org-of-operator = Do operador
org-client-id = Id do cliente
org-client-open = O que tem
org-purpose = Finalidade
org-owner = Responde por ela
org-leash-end = A aplicação termina
org-per-day = No máximo por dia
org-activity = O que fez
org-nothing-held = Não tem aqui nada em nome de outros.
org-domains-text = Um domínio provado por um registo no DNS é só desta organização. Vale para os endereços exatamente nesse domínio.
org-domain-pending = Ainda por provar
org-domain-verified = Provado
org-domain-lost = Perdido
org-proved-on = provado em { $date }
org-missing-since = o registo falta desde { $date }
org-lost-on = perdido em { $date }
org-record = Publique este registo no DNS e deixe-o lá
org-record-name = Nome
org-record-type = Tipo
org-record-value = Valor
org-check-now = Verificar agora
org-remove = Remover
org-new-domain = Novo domínio
org-domain-name = Domínio
org-domain-hint = Por exemplo, exemplo.pt. Os endereços abaixo dele, como em mail.exemplo.pt, precisam de um domínio próprio.
org-add-domain = Adicionar o domínio
org-record-missing = O registo não está lá, ou ainda não: o DNS pode demorar alguns minutos. Compare nome e valor e verifique de novo.
org-dns-unanswered = O DNS não diz se o registo está lá. Tente mais tarde.
org-domain-held = Outra organização já provou este domínio.
org-many-domains = Já há cem domínios. Remova primeiro um.
org-connections = Início de sessão único
org-connections-text = Os membros entram com um fornecedor próprio, como o Entra ID, o Okta ou o Google Workspace. Vale só para esta organização. Pessoas novas só aparecem por si sob um domínio provado aqui.
org-new-connection = Novo fornecedor
org-connection-name-hint = As pessoas escolhem o fornecedor por este nome.
org-issuer = Emissor
org-issuer-hint = O endereço sob o qual o fornecedor publica os seus metadados, como https://login.exemplo.pt. Nunca muda.
org-client-secret = Segredo do cliente
org-secret-hint = É selado e nunca mais mostrado. Deixe vazio se o fornecedor aceita pedidos assinados: o nosso cliente prova-se então pelas suas chaves.
org-secret-kept = Deixe vazio para manter o que lá está.
org-by-keys = Retirar o segredo; o nosso cliente prova-se pelas suas chaves
org-company = Empresa
org-company-hint = Só para fornecedores que servem muitas empresas: o domínio de um Google Workspace, ou o inquilino na Microsoft.
org-connect = Ligar o fornecedor
org-required = Obrigatório
org-require = Tornar este fornecedor obrigatório
org-require-text = Os membros passam a entrar nesta organização só por ele; o que têm sem ele não confere nada aqui.
org-require-no-more = Deixar de o exigir
org-required-text = Os membros entram nesta organização só por ele.
org-register-there = Registe estes endereços no fornecedor
org-redirect-uri = Endereço de retorno
org-logout-uri = Fim de sessão (back-channel)
org-begin-uri = A entrada começa em
org-keys-uri = Chaves do nosso cliente
org-change-connection = Alterar
org-believe-acr = Acreditar no fornecedor quando diz que foram usados dois fatores
org-scim-subject = As pessoas criadas pelo diretório são conhecidas aqui pelo seu externalId
org-mappings = Funções por atributos
org-mappings-hint = Uma por linha: o atributo, o valor, a função. Por exemplo: groups finance clerk
org-connection-ends = Outro id ou segredo do cliente termina todas as entradas que assentam neste fornecedor.
org-delete-connection = Eliminar a ligação
org-delete-connection-text = As suas identidades são esquecidas e todas as entradas que assentam nela terminam.
org-trial = Ensaio
org-trial-text = Ensaie uma entrada: nenhuma pessoa entra, e vê cada mensagem e em que teria resultado.
org-try = Ensaiar
org-trial-waits = O fornecedor ainda não respondeu.
org-trial-signed-in = Funciona: uma pessoa conhecida aqui teria entrado.
org-trial-created = Funciona: teria sido criada uma conta sob um domínio provado.
org-trial-not-vouched = Teria sido recusado: nenhuma conta está ligada e nenhum domínio provado responde pelo endereço.
org-trial-not-linked = Teria sido recusado: uma conta tem este endereço. A sua pessoa entra e liga o fornecedor.
org-trial-disabled = Teria sido recusado: o estatuto de membro está desativado.
org-trial-unavailable = O fornecedor não está acessível, ou não responde como deve.
org-trial-refused = O fornecedor recusou, ou não se acredita no que diz.
org-trial-subject = Sujeito
org-trial-acr = Garantia
org-trial-messages = Mensagens
org-many-connections = Já há cinquenta ligações. Elimine primeiro uma.
org-two-factors = Isto exige dois fatores. Junte à sua conta uma chave de acesso ou uma aplicação de autenticação e entre com ela.
org-data = Dados
org-file-title = Levar os dados
org-file-text = Um ficheiro tem as funções, os domínios, as ligações, os membros e as aplicações desta organização. Não tem palavras-passe, chaves nem outros segredos.
org-file-button = Guardar a organização
org-delete-title = Apagar esta organização
org-delete-text = Fica logo suspensa: membros, aplicações e chaves deixam de poder fazer algo aqui. Ao fim de 30 dias é apagada. Até lá, o operador deste serviço pode recuperá-la. O nome curto nunca mais é usado. As contas das pessoas ficam.
org-delete-confirm = Nome curto da organização, para confirmar
org-delete-reason = Motivo
org-delete-button = Apagar a organização
org-event = Evento
org-from = Desde
org-before = Antes de
org-filter = Filtrar
org-export = Guardar em linhas JSON
org-export-hint = Os dias começam à meia-noite em UTC. Guardam-se todas as entradas do filtro.
org-detail = Detalhes
org-wrong-field = Não foi aceite. Confirme este campo: { $field }.
org-not-held = Só se pode dar o que se tem. Nada foi alterado.
org-not-allowed = Não tem a permissão necessária. Nada foi alterado.
org-changed-since = Houve uma alteração desde que abriu a página. Veja de novo e repita.
org-exists = Já existe uma com esse nome.
org-no-mail = Não se envia e-mail a partir daqui. Peça o convite ao operador.
org-gone = Não existe, ou já não existe.

## O fim

sign-out = Sair
sign-out-title = Terminar a sessão?
sign-out-text = Se não pediu isto, mantenha a sessão.
sign-out-all = Sair de todas as contas neste navegador
stay-signed-in = Manter a sessão
signed-out-title = A sessão terminou
signed-out-text = Pode fechar esta página.
signed-out-back = De volta a { $host }.
sign-in-again = Entrar de novo
done-title = Está feito
done-text = Isto já tinha terminado. Não há mais nada a fazer nesta página.
failed-title = Não foi possível concluir
failed-text = Nada foi alterado. Pode começar de novo.
other-account-title = Este convite é para outra conta
other-account-text = Foi enviado para { $email }. Continue com a conta que tem este endereço ou peça um convite para a que costuma usar.
sign-out-go-on = Sair e continuar
to-other-account = Continuar com essa conta
to-account = Ir para a sua conta
back-to-app = Voltar à aplicação
move-on-title = De volta à aplicação
sign-out-on-text = O fim da sessão continua em { $host }.
leave-to-title = A seguir para { $name }
denied-title = Pedido recusado
move-on-text = a caminho de { $host }

## O que corre mal

expired-title = O tempo acabou
expired-text = Nada foi alterado. Comece de novo em { $host }.
over-title = Esta página já foi usada
over-text = Nada foi alterado. Comece de novo em { $host }.
cookies-title = Os cookies estão bloqueados
cookies-text = Permita-os para { $host } e comece de novo.
other-browser-title = Isto pertence a outro navegador
other-browser-text = Continue no navegador onde começou, ou comece aqui de novo em { $host }.
lost-sign-on-title = Este início de sessão não pode continuar
lost-sign-on-text = Nada foi alterado. Pode ser antigo, já ter sido usado ou pertencer a outro navegador. Comece de novo em { $host }.
unknown-title = Não há nada aqui
unknown-text = O link pode estar incompleto. Comece de novo em { $host }.
invitation-void-title = Este convite não pode ser usado
invitation-void-text = Pode já ter sido aceite ou ser antigo. Peça um novo em { $host }.
recovery-void-title = Este link não pode ser usado
recovery-void-text = Pode já ter sido usado ou substituído, ou ser antigo. Comece de novo em { $host }.
report-title = Não foi consigo?
report-text = Um aviso falou-lhe de uma entrada ou de uma alteração. Se não foi consigo, todas as sessões da conta terminam e todas as aplicações perdem o acesso. Depois recupera a conta.
report-allow = Não fui eu
report-deny = Fui eu
report-note = Nada acontece antes de escolher.
report-denied-title = Nada foi alterado
report-denied-text = Disse que foi consigo. O link do aviso já não funciona.
report-spent = Este link já foi usado, ou tem mais de sete dias.
report-void-title = Este link não pode ser usado
report-void-text = Pode já ter sido usado, ou ter mais de sete dias. Se precisar, recupere a sua conta em { $host }.
suspended-title = Esta organização está suspensa
suspended-text = Nada foi alterado. Fale com a administração, ou use { $host } para outra organização.
sign-up-closed-title = As contas são criadas por convite
sign-up-closed-text = Peça um a quem gere { $host }.
busy-title = Tente de novo
busy-text = { $host } está ocupado por um momento. Nada foi alterado.
too-many-text = Houve demasiados pedidos a { $host }. Espere um minuto.
foreign-title = Este formulário veio de outro sítio
foreign-text = Nada foi alterado. Comece de novo em { $host }.
bad-link-title = Este link para entrar não pode ser usado
bad-link-text = A aplicação que indicou esta página cometeu um erro. Volte a ela e tente de novo; se não ajudar, avise quem a faz.
bad-link-self = A aplicação que indicou esta página cometeu um erro. Inscreveu-se sozinha, e levaria ao endereço abaixo. Siga para lá apenas se o conhece.
still-signed-in-title = A sessão continua aberta
still-signed-in-text = Não foi possível terminar a sessão. Termine-a na sua conta em { $host }.
missing-title = Esta página não existe
missing-text = O endereço pode estar incompleto, ou a página mudou de lugar. Comece de novo em { $host }.
broken-title = Algo falhou do nosso lado
broken-text = A falha ficou anotada em { $host }. Comece de novo; se voltar a acontecer, avise quem o gere.
unreadable-title = Não foi possível ler o pedido
unreadable-text = Nada foi alterado. Comece de novo em { $host }.
for-developers = Para quem programa:
request-id = Pedido
too-many-tries = { $number ->
    [one] Muitas tentativas. Espere um minuto ou use uma chave de acesso.
   *[other] Muitas tentativas. Espere { $number } minutos ou use uma chave de acesso.
}
wrong-password = Não corresponde. Confirme os dados e tente de novo.
wrong-email-code = O código não corresponde. Veja o e-mail mais recente.
wrong-sms-code = O código não corresponde. Veja a mensagem mais recente.
wrong-totp = O código não corresponde. Espere pelo próximo e tente de novo.
wrong-recovery-code = O código não corresponde ou já foi usado.
wrong-link = O link não corresponde. Abra o do e-mail mais recente.
wrong-passkey = Essa chave de acesso não serviu aqui. Tente de novo ou use outra forma.
wrong-identifier = Escreva o seu e-mail, por exemplo ana@example.com.
wrong-profile = Confirme o e-mail e tente de novo.
wrong-user-code = Nenhum dispositivo espera com esse código. Confirme-o, ou peça um novo ao dispositivo.
field-missing = Falta alguma coisa. Confirme os campos e tente de novo.
password-refused = Essa senha é curta ou muito conhecida. Escolha outra.
passkey-refused = Essa chave de acesso já está na sua conta, ou há demasiadas.
email-taken = Já há uma conta com este e-mail. Entre nela.
try-again = Não foi possível neste momento. Tente de novo.
not-now = Esse passo terminou. A página mostra onde está.
sso-refused = A entrada no outro fornecedor não resultou. Tente de novo ou use outra forma.
sso-unavailable = O outro fornecedor não responde agora. Tente de novo daqui a pouco ou use outra forma.
account-not-vouched = É conhecido lá, mas nenhuma conta aqui está ligada e não pode ser criada uma para o seu endereço. Fale com o administrador.
identity-not-linked = Uma conta aqui já tem este endereço. Entre nela de outra forma e ligue as duas na página da sua conta.
membership-disabled = A sua pertença a esta organização está desativada. Fale com o administrador dela.
not-taken = Não foi possível. Tente de novo.

## Páginas de um servidor de desenvolvimento

dev-badge = porteiro dev
dev-sections = Desenvolvimento
playground = Experimentar
playground-lede = Entre nesta página como se fosse uma aplicação sua. Ela mostra cada mensagem trocada e a razão para confiar nela.
play-needs-script = Esta página precisa de JavaScript, que está desligado neste navegador.
play-missing-title = Esta página ainda não tem cliente
play-missing-text = Esta pasta vem de uma versão anterior. Junte estas linhas a .porteiro/demo.toml:
play-missing-then = Depois execute isto e carregue a página de novo:
play-new-here = Primeira vez aqui? Crie uma conta numa página nova, com uma chave de acesso, e volte. Os e-mails dela ficam na caixa de correio.
play-demo-account = Ou use { $email }: a senha está no terminal.
play-invoices = Pedir também para ver faturas
play-invoices-hint = Só membros da organização de demonstração podem, como { $email }.
play-signed-in = Resultou. Para esta página, a conta é
play-unfold = Mostrar todas as mensagens
play-trouble = O servidor não respondeu. Ainda está ligado?
play-denied = O Porteiro recusou. O passo 2 mostra a razão.
play-done = Feito
play-refused = Recusado
play-ok = Verificado
play-bad = Errado
play-unknown = Este navegador não sabe verificar
play-sent = O que foi enviado
play-came = O que voltou
play-claims = O que diz
play-token = O token completo
play-section = O que acontece ao entrar
play-ask = Pedir
play-ask-text = Esta página envia o navegador ao Porteiro e diz o que gostaria de saber sobre a sua pessoa.
play-ask-why = Inventou um segredo e envia apenas o resumo dele (code_challenge). Uma resposta roubada não serve sem o segredo.
play-back = Voltar com um código
play-back-text = O Porteiro confirma a sua identidade, pede o seu acordo e devolve o navegador com um código. Esta página não vê senha nem chave de acesso.
play-check-state = A resposta pertence ao pedido desta página
play-check-issuer = Vem do servidor a que se perguntou
play-trade = Trocar o código por tokens
play-trade-text = Esta página mostra o código e o segredo e recebe tokens: notas assinadas que dizem quem entrou e o que é permitido.
play-trade-why = Um código serve uma vez, durante um minuto, e só com esse segredo (code_verifier).
play-id = Verificar o ID token
play-id-text = Diz a esta página quem entrou.
play-check-signature = A assinatura é válida: nada mudou pelo caminho
play-check-iss = Foi feito por este servidor
play-check-aud = Destina-se a esta página
play-check-nonce = Foi feito para esta entrada
play-check-exp = Está dentro do prazo
play-check-at-hash = Pertence ao access token que o acompanha
play-access = Verificar o access token
play-access-text = Esta página mostrá-lo-ia a uma API, que o verifica da mesma forma.
play-check-typ = É um access token e não passa por outra coisa
play-check-api = Destina-se a uma API e a nenhuma outra
play-check-client = Foi dado a esta página
play-userinfo = Perguntar pela conta
play-userinfo-text = Com o access token, esta página pede o que se aceitou partilhar.
play-check-sub = Trata-se da mesma pessoa
play-stolen-section = Um token roubado
play-stolen = Roubar o access token
play-stolen-text = Outra página encontrou o seu access token, num registo ou num proxy. Tem o texto dele, mas não a sessão do seu navegador nem a memória desta página.
play-stolen-how = Aqui é um iframe sem origem própria. Recebe o texto numa mensagem, e nada mais lhe chega.
play-stolen-button = Deixar a outra página usá-lo
play-other-sent = O que a outra página enviou
play-other-came = O que a outra página recebeu
play-check-stolen = A outra página lê os seus dados: basta-lhe o texto
play-bound = Receber um token ligado a uma chave
play-bound-text = Esta página faz uma chave que nunca sai deste navegador e assina uma prova quando pede o token seguinte (DPoP). Esse token indica a chave. O refresh token continua como foi emitido, sem chave: uma aplicação que prova a chave quando troca o código recebe um que está ligado.
play-bound-button = Receber um token ligado
play-check-key = Nenhum script pode ler a chave, nem o desta página
play-check-bound = O token indica a chave desta página
play-worthless = Roubar o token ligado
play-worthless-text = A outra página recebe também o texto deste. Tenta só com o texto e depois com uma prova de uma chave sua. A seguir pergunta esta página, com a própria chave.
play-check-alone = O texto sozinho é recusado
play-check-forged = Com uma prova de outra chave é recusado
play-check-owned = Serve a esta página
play-owned = O que esta página enviou e o que voltou
play-refresh-section = Continuar a sessão
play-refresh = Receber tokens novos
play-refresh-text = Um access token dura cinco minutos. Um refresh token traz o seguinte sem perguntar de novo.
play-refresh-button = Receber tokens novos
play-check-rotated = O refresh token é outro: cada um serve uma vez
play-check-new-signature = A assinatura do novo access token é válida
play-reuse = Usar o antigo outra vez
play-reuse-text = Imagine que o refresh token antigo foi roubado. Quando um já usado reaparece, o Porteiro termina todos.
play-reuse-button = Usar o antigo
play-check-old = O antigo é recusado
play-check-newest = O mais novo termina com ele
play-check-access = O access token também termina
play-device-section = Ligar um dispositivo
play-device = Receber um código
play-device-text = Uma televisão não tem teclado: mostra um código, e a autorização é dada num navegador. Aqui, a televisão é esta página.
play-device-button = Receber um código
play-device-open = Autorizar numa página nova
play-device-waiting = Esta página pergunta de poucos em poucos segundos se já há autorização:
play-connected = Receber os tokens
play-connected-text = Assim que houver autorização, a pergunta seguinte é respondida com tokens.
play-agent-section = Deixar um agente pedir
play-agent = Dá-se a conhecer
play-agent-text = Um agente age por si na sua ausência. Aqui, o agente é esta página: inscreve-se sozinho e ainda não chega a nenhuma pessoa.
play-agent-button = Iniciar o agente
play-let = Autorizar o agente
play-let-text = Compare o código e autorize. A partir daí, pode pedir-lhe mais.
play-pay = Pede um pagamento
play-pay-text = Quer pagar 40 EUR a uma padaria, e nenhum link leva dele até si: o pedido chega por e-mail e a uma página sua.
play-pay-button = Pedir o pagamento
play-pay-open = Ver o pedido numa página nova
play-pay-waiting = O agente pergunta de poucos em poucos segundos se já há decisão:
play-paid = Recebe um token só para esse pagamento
play-paid-text = O que leu é o que o token diz. Uma API de pagamentos aceitaria este e nenhum outro.
play-check-details = Contém exatamente o pagamento aprovado
play-check-used = Serve: o agente perguntou com ele por quem age
play-out = Sair
play-out-text = Esta página esquece os tokens e pede ao Porteiro que termine a sessão neste navegador.
play-out-asks = O Porteiro vai perguntar primeiro e não volta aqui: esta porta não está em post_logout_redirect_uris do cliente.
mailbox = Caixa de correio
mailbox-lede = Cada e-mail e SMS que este servidor enviou desde que começou, primeiro os mais novos.
mailbox-empty = Ainda nada foi enviado. Peça um código numa página de entrada e ele aparece aqui.
mailbox-gone = Essa mensagem não está aqui. Ficam as 200 mais novas desde o começo.
mailbox-all = Todas as mensagens
mailbox-news = Chegou uma mensagem.
mailbox-open-link = Abrir o link
mailbox-html = Como foi enviado
mailbox-text = O texto
